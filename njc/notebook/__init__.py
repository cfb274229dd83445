"""Natural code in the cells of notebooks."""
