"""What editors and type checkers see of natural programs."""
