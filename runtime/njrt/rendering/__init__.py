"""Showing values to a model: bounded text, the same for the same state, that runs none of the program's code.

[Order(id=7, ...), ...]  ->  list of 1,204 Order; [0]: Order(id=7, total=Decimal('9.50'), ...)
"""
