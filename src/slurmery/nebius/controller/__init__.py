"""Slurm's controller."""
