"""NodeSet: the workers and the objects around them. Which pods come and go is decided in `workers`."""
