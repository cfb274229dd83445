"""One block run: settings, limits, the layered model, and the loop that drives the conversation."""
