"""Commands for source code: build, check, explain, show, and running type checkers."""
