#!/bin/bash
# Makes the directory that NCCL's logs go to, for everybody to write to.
set -euo pipefail
chroot /mnt/jail install -d -m 1777 "$DIRECTORY"
