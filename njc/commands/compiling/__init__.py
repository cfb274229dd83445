"""Commands on source: build, check, explain, show, and what the type checkers say."""
