"""A folder for PYTHONPATH: its `sitecustomize` has any Python program import a build, and records what it imports."""
