"""Plain data and the few things that everything above uses; imports nothing above."""
