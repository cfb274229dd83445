"""Repairing code using failing tests: first a rationale, then a fix, kept if the tests pass."""
