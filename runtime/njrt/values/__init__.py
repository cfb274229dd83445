"""Looking at Python values without changing them: their parts, their types, JSON forms, snapshots.

introspection   an object -> its attributes and items, without running properties
shapes          a type -> what a value of it may be
encode, decode  a value <-> JSON
snapshot        objects -> a copy of their state, to put back
"""
