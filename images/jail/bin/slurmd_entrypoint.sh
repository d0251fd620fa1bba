#!/bin/sh
exec python3 -m onnode.slurmd
