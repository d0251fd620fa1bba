"""What Slurm's ResumeProgram and SuspendProgram do: say which ephemeral nodes are to be on."""
