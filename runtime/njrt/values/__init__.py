"""Python values: their parts, types and copies (introspection, shapes, equality, copying, snapshot), as Python expressions
(encode, decode), and as JSON of their types (json_forms, json_choices, adapters).
"""
