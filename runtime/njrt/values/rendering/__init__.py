"""Render values for a model: bounded text, the same for the same state, without running properties.

[Order(id=7, ...), ...]  ->  list of 1,204 Order; [0]: Order(id=7, total=Decimal('9.50'), ...)
"""
