"""Commands for code that is written at build time, and for its lock file."""
