"""A check against accidents for code run in the program's process. Not a sandbox (SECURITY.md)."""
