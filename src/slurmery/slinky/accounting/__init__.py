"""Accounting: slurmdbd in front of a database."""
