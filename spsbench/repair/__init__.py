"""A model repairs data sets' programs: with execution traces, just the failing test, or neither."""
