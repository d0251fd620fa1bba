#!/bin/bash
#SBATCH --nodes=1 --exclusive --time=20 --deadline=now+8hours
# The bandwidth between the GPUs of the worker. Where the jail has no nccl-tests there is nothing to tell.
set -euo pipefail
command -v all_reduce_perf >/dev/null || { echo "skipped: no all_reduce_perf"; exit 0; }
NCCL_IB_DISABLE=1 all_reduce_perf --minbytes 512M --maxbytes 8G --stepfactor 2 --ngpus "$(nvidia-smi --list-gpus | wc -l)"
