"""Warnings about something that does not stop the program, in Python's `logging` under `njrt`.

`logging` is imported for the first of them only.
"""

from __future__ import annotations


def warn(message: str, *details: object) -> None:
    """Log a warning; until the program configures logging, Python prints it."""
    import logging

    logging.getLogger("njrt").warning(message, *details)
