"""Slurm's REST API."""
