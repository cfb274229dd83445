"""CruxEval: models that predict outputs, inputs and states of programs."""
