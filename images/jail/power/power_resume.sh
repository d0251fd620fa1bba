#!/bin/sh
# Slurm wants nodes: power_resume.sh worker-[0-2]
exec "${0%/*}/power-manager" resume --nodes="$1"
