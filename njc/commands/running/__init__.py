"""Commands that run a program, or read the traces and the usage of its runs."""
