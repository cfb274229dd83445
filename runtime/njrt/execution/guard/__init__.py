"""What the model's code may not do by default: a guard against accidents, not a sandbox (SECURITY.md)."""
