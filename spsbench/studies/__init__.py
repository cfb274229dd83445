"""The case studies: a graph that grows, and school problems."""
