"""Comparing a program's modes: results, a table in the terminal, a page."""
