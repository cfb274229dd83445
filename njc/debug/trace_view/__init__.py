"""Trace files, shown as tables in the terminal or as a single HTML page."""
