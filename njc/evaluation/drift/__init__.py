"""Recordings that grow old, and what another model would make of them.

compare_runs(read_runs(old), read_runs(new))      by block: equal effects, equal outcomes, and what differs
"""
