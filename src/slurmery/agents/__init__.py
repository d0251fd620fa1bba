"""Programs that live next to Slurm: the writer of the jail's files, the rebooter, the power manager."""
