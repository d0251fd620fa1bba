"""Repair of Kubernetes nodes with Slurm workers: drained first, then rebooted or replaced, in a budget."""
