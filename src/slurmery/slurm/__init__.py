"""The Slurm side: slurmrestd client, tokens, snapshot poller."""
