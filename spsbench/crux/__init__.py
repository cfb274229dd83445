"""CruxEval: models predict the outputs, inputs and states of programs."""
