"""What a natural block may do, by the names and types around it, and findings about it."""
