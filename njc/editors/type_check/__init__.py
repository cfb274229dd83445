"""Checking the types of natural code with the user's checker: mypy, pyright and others."""
