#!/bin/bash
# Makes a user with a home in the jail.
set -euo pipefail
chroot /mnt/jail id -u "$USER_NAME" >/dev/null 2>&1 || chroot /mnt/jail useradd --create-home --shell /bin/bash "$USER_NAME"
