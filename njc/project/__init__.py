"""Build many files: settings, sources, compiled files, the report."""
