"""A neural debugger: generated programs' trajectories; a small model's training and evaluation."""
