"""Values: parts, types and copies (introspection, snapshot), as Python
(encode), and as JSON according to their types (json_forms, json_choices, adapters).
"""
