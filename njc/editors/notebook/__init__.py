"""Natural code in notebook cells."""
