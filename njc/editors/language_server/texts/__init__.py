"""An open text and what is known of it: its names, findings and blocks, also while it is being typed."""
