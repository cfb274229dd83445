"""A check of a model's code against accidents, before it runs. Not a sandbox (SECURITY.md)."""
