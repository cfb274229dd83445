"""Commands that run a program, or read its runs' traces and usage."""
