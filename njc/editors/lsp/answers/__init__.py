"""Answers to an editor, as functions of an open text and a place in it."""
