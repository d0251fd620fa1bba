#!/bin/sh
# Slurm's Prolog, Epilog or HealthCheckProgram, by the name it is called: runs the passive checks of checks.json.
# slurmd gives it hardly any environment. Where there is no Python nothing is checked, and no job suffers for it.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/opt/slurmery PYTHONDONTWRITEBYTECODE=1
command -v python3 >/dev/null || exit 0
context=${0##*/}
exec python3 -S -m onnode.checks "${context%.sh}"
