"""Checks that generated code must pass before it is used."""
