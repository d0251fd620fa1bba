"""What the jobs of the shipped ActiveChecks run on a node, whatever kind of machine it is.

    python3 -S -m onnode.active cpu-perf|mem-perf|disk-perf|gpu-fence [ARGUMENT...]

Each tries for some seconds whether a part of the machine does what it should, and how fast. It ends with 1 if
a result is wrong, or slower than it was told to expect.
"""
