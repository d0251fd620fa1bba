"""Slurm's state as metrics."""
