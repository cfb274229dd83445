"""Training data from passing results: repairs with their traces and rationales, and the effects of live blocks."""
