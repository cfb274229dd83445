"""Training data from passing results: repairs with traces and rationales, live blocks' effects."""
