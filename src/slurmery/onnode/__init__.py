"""What runs beside slurmd, inside a job's machine: the standard library is all that may be imported here.

Worker images carry this folder alone, so imports within it are relative.
"""
