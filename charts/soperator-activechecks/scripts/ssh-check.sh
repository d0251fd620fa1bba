#!/bin/bash
# Asks a login node for sshd's greeting.
set -euo pipefail
exec 3<>"/dev/tcp/$LOGIN/22"
read -r -t 30 greeting <&3
echo "$greeting"
[[ $greeting == SSH-2.0-* ]]
