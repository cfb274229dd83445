"""Cases of a function: inputs and expected results, and the pass rates of models and versions."""
