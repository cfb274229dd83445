"""Python values: their parts, types and copies (introspection, shapes, equality, copying, snapshot), as Python expressions
(encode), and as JSON according to their types (json_forms, json_choices, adapters).
"""
