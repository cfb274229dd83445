"""A check against accidents for code that runs in the program's process. Not a sandbox (SECURITY.md)."""
