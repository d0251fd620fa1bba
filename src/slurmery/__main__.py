"""`python -m slurmery` is `slurmery`."""

from slurmery.cli import main

main()
