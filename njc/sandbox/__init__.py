"""Running a program under bubblewrap, with one way to the network."""
