"""Findings about natural blocks: what they name, and which variables are bound on every path."""
