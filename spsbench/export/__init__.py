"""Training data from passed results: repairs with their traces and rationales, and the effects of live blocks."""
