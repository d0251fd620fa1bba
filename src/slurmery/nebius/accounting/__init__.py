"""Slurm's database daemon and its database."""
