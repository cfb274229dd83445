"""Repairing code by failing tests: a rationale first, then the fix, kept if the tests pass."""
