"""Patterns of the words in prompts."""

from __future__ import annotations

import re


def compile_words(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of words, in capital or small letters."""
    return re.compile(pattern, re.IGNORECASE)


def split_words(text: str) -> frozenset[str]:
    """Return the words of a list with blanks between them."""
    return frozenset(text.split())
