"""The first content of the shared root."""
