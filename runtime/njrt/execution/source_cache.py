"""The source lines of snippets, for tracebacks and `inspect`, for as long as their code exists.

    code = compile(tree, register_source("mailbox.njpy:12", "y = 1"), "exec")
    linecache.getline(code.co_filename, 1)      'y = 1'

All code objects of a compilation share one file name object, which is deleted with its lines after
the last of them.
"""

from __future__ import annotations

import itertools
import linecache
from typing import Any

_FILENAME_PREFIX = "<natural block "
_snippet_numbers = itertools.count(1)


class SnippetFilename(str):
    """The file name of a snippet; its lines are removed from the cache when it is deleted."""

    __slots__ = ()

    def __del__(self, cache: dict[str, Any] = linecache.cache) -> None:  # also at exit
        cache.pop(str(self), None)


def register_source(place: str, source: str) -> SnippetFilename:
    """Add the source to `linecache` under a unique file name."""
    name = SnippetFilename(f"{_FILENAME_PREFIX}{place} #{next(_snippet_numbers)}>")
    # The cache holds a plain copy of the name: a reference to the name itself would keep it alive.
    linecache.cache[str(name)] = (len(source), None, source.splitlines(True), str(name))
    return name


def is_snippet(filename: str) -> bool:
    """Return whether code with this file name comes from a snippet."""
    return filename.startswith(_FILENAME_PREFIX)
