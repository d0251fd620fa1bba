#!/bin/bash
# Makes the user that checks run as in Slurm; nodes take their users from the jail.
set -euo pipefail
home=/opt/soperator-home/soperatorchecks
if ! chroot /mnt/jail id -u soperatorchecks >/dev/null 2>&1; then
  chroot /mnt/jail useradd --system --create-home --home-dir "$home" --shell /bin/bash soperatorchecks
fi
chroot /mnt/jail install -d -o soperatorchecks -m 0755 "$home"
