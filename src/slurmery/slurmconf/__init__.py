"""Typed writers and parsers of Slurm's own text formats. Pure: no I/O."""
