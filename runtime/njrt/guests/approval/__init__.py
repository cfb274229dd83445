"""Approve effects: a person's approval at the terminal.

These are interceptors (`njrt.data.decisions`): they perform no effects.
"""
