"""The passive checks that come with worker images: a function for each, run by its name in checks.json.

    python3 -S -m onnode.passive NAME [ARGUMENT...]

A function gets the environment that Slurm and the runner give, and the arguments. Its answer is what is
wrong, or nothing. What it cannot find out is no fault of the node: whatever it raises ends the program with
75, from which nothing follows.
"""
