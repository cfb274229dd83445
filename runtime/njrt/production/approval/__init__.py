"""Deciding about effects: what an effect needs, a person's approval, a manifest of what is allowed.

Nothing here carries an effect out: these are interceptors (`njrt.decisions`).
"""
