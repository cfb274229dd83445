"""Approval, budgets and canaries, for programs in production."""
