"""What commands share: their options, and what they print: results, findings, notes, the status line."""
