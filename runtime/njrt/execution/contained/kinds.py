"""Types of objects that cannot be contained."""

from __future__ import annotations

from collections import abc
from typing import Any

MADE_BY_CODE: tuple[Any, ...] = (
    *(type, abc.Callable, abc.Iterator, abc.Generator),
    *(abc.AsyncIterator, abc.AsyncGenerator, abc.Awaitable, abc.Coroutine),
)
"""Types of objects that live in the process of their code and cannot be passed to the program."""
