"""Slurm's state as metrics for Prometheus.

    slurmrestd ──► source (fetch, render) ──► collector ──► page ──► scrape
                   one per list of Slurm's    keeps the      bytes,
                                              last good      made once

A source asks Slurm and turns the answer into text; a collector asks it again and again and keeps what it
gave last; the page is what all collectors hold. None of them waits for another.
"""
