"""Building many files: configuration, units, outputs, the report."""
