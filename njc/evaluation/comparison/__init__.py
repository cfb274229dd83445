"""Comparing the modes of a program: results, a table in the terminal, a page."""
