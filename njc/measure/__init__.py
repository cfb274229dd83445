"""Judging builds by a user's own tests and recorded runs, and repairing code by the results."""
