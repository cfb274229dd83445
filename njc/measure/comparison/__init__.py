"""Comparing a program's modes: results, and a table in the terminal."""
