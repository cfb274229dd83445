"""Run a program under bubblewrap, with a proxy as its only network."""
