#!/bin/sh
# Fails when more than 80 % of the root file system of the worker's container are in use.
used=$(df --output=pcent / | tail -n 1 | tr -dc 0-9)
[ "$used" -le 80 ] && exit 0
echo "$used % of the disk are in use" >&3
exit 1
