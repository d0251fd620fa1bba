"""The front door of slurm.nebius.ai: SlurmCluster and what belongs to it. Builders are pure."""
