"""A folder for PYTHONPATH: its `sitecustomize` makes programs import a build and record imports."""
