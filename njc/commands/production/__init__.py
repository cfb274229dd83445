"""Commands for programs in production: many rows, recordings that grow old, other models."""
