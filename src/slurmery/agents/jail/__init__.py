"""`slurmery sconfigcontroller`: keeps files of ConfigMaps up to date in the jail, and has Slurm read them."""
