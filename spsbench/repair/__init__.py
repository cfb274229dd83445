"""A model repairs programs from data sets: with execution traces, with only the failing test, or with neither."""
