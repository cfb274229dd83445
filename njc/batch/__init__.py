"""`njc batch`: a function called for every row of a file."""
