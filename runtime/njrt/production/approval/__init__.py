"""Approve effects: an effect's needs, a person's approval, a manifest of allowed needs.

These are interceptors (`njrt.decisions`): they perform no effects.
"""
