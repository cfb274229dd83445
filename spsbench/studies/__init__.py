"""The case studies: a growing graph, and school maths problems."""
