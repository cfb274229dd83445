"""Approve effects: a person's approval at the terminal.

These are interceptors (`njrt.decisions`): they perform no effects.
"""
