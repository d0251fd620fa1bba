#!/bin/sh
# A login node: sshd, whose sessions are in the jail.
. "${0%/*}/node"

at_home
"${0%/*}/complement_jail.sh"
munge_socket
exec /usr/sbin/sshd -D -e -f /mnt/ssh-configs/sshd_config "$@"
