"""The nodes that run jobs, of a NodeSet (5.0)."""
