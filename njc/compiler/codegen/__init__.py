"""From natural blocks to Python text.

[NaturalBlock]  ->  [LoweredBlock]  ->  [Piece]  ->  bytes
"""
