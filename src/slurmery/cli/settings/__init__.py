"""What each program can be told: one frozen class of settings per program, and what they share.

These modules are light: every program reads the flags of all others, to say where a flag acts.
"""
