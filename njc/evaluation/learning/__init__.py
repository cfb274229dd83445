"""Static code tested on recorded runs, and repaired by the model that wrote it."""
