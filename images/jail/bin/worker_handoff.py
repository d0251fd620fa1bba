#!/usr/bin/python3
"""What slurmd calls for the power action soperator-worker-handoff: the container ends, to be started anew.

The operator replaces workers without it, but slurmd does not start where a program that slurm.conf names is
missing.
"""

import os
import signal

os.kill(1, signal.SIGTERM)
