#!/bin/bash
#SBATCH --nodes=1 --time=10 --deadline=now+2hours
# The programs come with the worker's image.
check=/opt/slurmery/bin/check
[ -x "$check" ] || { echo "skipped: no $check"; exit 0; }
# It uses three times of what it is told: a part of what the job has, in MB.
read -r amount unit < <(scontrol show job "$SLURM_JOB_ID" | sed -En 's/.*MinMemoryNode=([0-9]+)[.0-9]*([MG]).*/\1 \2/p')
[ "$unit" != G ] || amount=$((amount * 1024))
tried=$((${amount:-6144} / 6))
exec "$check" mem-perf $((tried < 1024 ? tried : 1024))
