"""How fast we are: figures measured on this machine, next to the limits that we promise."""
