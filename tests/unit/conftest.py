"""Unit tests run in bounded memory: one that runs away fails by itself and takes nothing else with it."""

import resource

LIMIT = 4 << 30
resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, resource.getrlimit(resource.RLIMIT_DATA)[1]))
