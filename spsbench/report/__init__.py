"""The report: measurements beside the paper's tables."""
