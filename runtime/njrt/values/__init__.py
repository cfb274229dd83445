"""Python values: reading their parts, inferring types, encoding as text, snapshots.

introspection   an object -> its attributes, without running properties
shapes          a value -> its shape, as a Python expression
encode, decode  a value <-> a Python expression
json_forms      a type -> its JSON schema, and JSON -> a value (json_choices, json_alternatives: unions)
schema_text     a JSON schema -> text, for models that read no schemas
adapters        a type -> pydantic's adapter of it; its errors -> text
snapshot        objects -> a copy of their state, to restore it
"""
