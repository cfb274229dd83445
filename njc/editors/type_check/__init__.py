"""Checking the types of natural code with the checker of the user: mypy, pyright and others."""
