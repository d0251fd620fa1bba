#!/bin/sh
# Runs the checks of checks.json that are for this moment. An image without the runner goes without checks.
[ -d /opt/slurmery/onnode ] || exit 0
export PYTHONPATH=/opt/slurmery
exec python3 -m onnode.checks prolog /opt/slurm_scripts/checks.json
