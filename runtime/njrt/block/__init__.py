"""A natural block: its session, and the agent that talks to the model."""
