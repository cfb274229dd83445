"""Approval, budgets and canaries: what a program needs where others depend on it."""
