"""A neural debugger: trajectories of generated programs, a small model trained on them, and its evaluation."""
