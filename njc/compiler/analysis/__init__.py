"""Findings about natural blocks: their names, and the variables that are bound on every path."""
