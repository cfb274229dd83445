"""Builds judged by a user's own tests and recorded runs, and repair of code by the results."""
