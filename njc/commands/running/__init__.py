"""Commands that run a program, and that read what its runs left: traces, usage."""
