#!/bin/sh
export CONTROLLER_MAX_ATTEMPTS=300 CONTROLLER_POLL_INTERVAL=1
exec python3 -m onnode.worker_init wait-controller
