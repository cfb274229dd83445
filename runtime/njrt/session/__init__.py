"""One run of a block: settings, limits, the model with its layers, and the loop that drives the conversation."""
