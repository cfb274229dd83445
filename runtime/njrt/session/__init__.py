"""One block run: settings, limits, the model with its layers, and the loop that drives the conversation."""
