"""Trials: a program, a method, a model and a repeat, each in a separate process."""
