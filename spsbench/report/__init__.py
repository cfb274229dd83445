"""The report: what was measured, beside the paper's tables."""
