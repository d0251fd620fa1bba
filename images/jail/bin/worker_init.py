"""Where NodeSets expect the program that waits before slurmd starts."""

import sys

from onnode.worker_init import main

sys.exit(main(sys.argv[1:]))
