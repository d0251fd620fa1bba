"""Passive checks: what Slurm's prolog, epilog and HealthCheckProgram run before, after and between jobs.

    python3 -m onnode.checks prolog|epilog|hc_program [FILE]

Without FILE it is /opt/slurm_scripts/checks.json, or where that is not, the shipped set (onnode.passive).

An internal error never harms a job: it is told on stderr and the program ends with 0. Only a check that
failed in a prolog ends it with 1, so that Slurm gives the job to another node.
"""
