"""The nodes that run jobs, of a cluster that has its own (1.22)."""
