"""An open text, with its names, findings and blocks, also while it is being typed."""
