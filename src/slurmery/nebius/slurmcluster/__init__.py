"""SlurmCluster: the jail, then the components on it, each with a condition of its own."""
