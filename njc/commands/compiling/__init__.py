"""Commands on source: build, check, explain, show, and running type checkers."""
