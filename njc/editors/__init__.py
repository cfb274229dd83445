"""Natural programs as seen by editors and type checkers."""
