#!/bin/bash
#SBATCH --nodes=1 --exclusive --time=45 --deadline=now+8hours
# NVIDIA's diagnosis of all GPUs of the worker. Where the jail has no dcgmi there is nothing to tell.
set -euo pipefail
command -v dcgmi >/dev/null || { echo "skipped: no dcgmi"; exit 0; }
dcgmi diag -r 2
