"""Approval and budgets, for programs in production."""
