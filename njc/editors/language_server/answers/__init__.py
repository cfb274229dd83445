"""Answers to an editor: functions of an open text and a place in it."""
