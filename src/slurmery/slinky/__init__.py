"""Front door slinky.slurm.net: Controller, NodeSet, LoginSet, Accounting, RestApi and Token."""
