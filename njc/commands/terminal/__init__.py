"""The shared options of commands, and their output: results, findings, notes, the status line."""
