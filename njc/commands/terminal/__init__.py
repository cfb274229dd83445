"""The commands' shared options and output: results, findings, notes, the status line."""
