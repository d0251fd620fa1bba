"""Token: a JSON web token for a Slurm user, kept fresh in a Secret."""
