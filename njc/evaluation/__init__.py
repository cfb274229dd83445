"""Builds judged by a user's own tests and recorded runs, and code repaired by what they show."""
