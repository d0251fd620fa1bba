"""ActiveChecks: jobs of Kubernetes or of Slurm that prove from time to time that a cluster is healthy."""
