"""Secrets that are made once: keys of munge, of tokens and of sshd, passwords of the database."""
