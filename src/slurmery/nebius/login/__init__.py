"""The nodes that users log in to."""
