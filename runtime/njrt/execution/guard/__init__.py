"""What the model's code may not do by default. A guard against accidents, not a sandbox (SECURITY.md)."""
