"""The files that Slurm, sshd and supervisord read: one module for each, text in the order of the contract."""
