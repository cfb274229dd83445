"""Commands for programs in production: many rows, ageing recordings, other models."""
