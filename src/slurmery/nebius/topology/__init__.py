"""The network as Slurm sees it, from labels of Kubernetes nodes."""
