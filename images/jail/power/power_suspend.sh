#!/bin/sh
# Slurm wants nodes no longer: power_suspend.sh worker-[0-2]
exec "${0%/*}/power-manager" suspend --nodes="$1"
