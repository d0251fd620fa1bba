"""The program that writes configuration files into the shared root."""
