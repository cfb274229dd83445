"""A folder for PYTHONPATH: its `sitecustomize` records the lines of a block in any Python program."""
