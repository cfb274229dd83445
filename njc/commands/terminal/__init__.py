"""What the commands print: results, findings, notes, and the status line; running a command again."""
