"""Repair of the programs of data sets by a model: with execution traces, with the failing test only, with neither."""
