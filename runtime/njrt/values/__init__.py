"""Python values: reading their parts, inferring types, encoding as text, snapshots.

introspection   an object -> its attributes, without running properties
shapes          a value -> its shape, as a Python expression
encode, decode  a value <-> a Python expression
snapshot        objects -> a copy of their state, to restore it
"""
