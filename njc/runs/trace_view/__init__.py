"""Trace files, shown as tables in the terminal and as one HTML page."""
