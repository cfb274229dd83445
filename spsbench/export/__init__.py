"""Training data from what passed: repairs with their traces and rationales, and the effects of live blocks."""
