"""Patterns for words in prompts."""

from __future__ import annotations

import re
from typing import cast


class _Words:
    """A pattern that is compiled when one of its methods is first used; most files use few of them."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern, flags

    def __getattr__(self, name: str) -> object:
        return self.__dict__.setdefault(name, getattr(re.compile(*self._pattern), name))


def compile_words(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Compile a pattern of words on its first use; by default, it ignores case."""
    return cast(re.Pattern[str], _Words(pattern, flags))


def split_words(text: str) -> frozenset[str]:
    """Return the words in a text, split at blanks."""
    return frozenset(text.split())
