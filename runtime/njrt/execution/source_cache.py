"""The source lines of snippets, for tracebacks and `inspect`, as long as their code can still run.

    code = compile(tree, kept_source("mailbox.njpy:12", "y = 1"), "exec")
    linecache.getline(code.co_filename, 1)      'y = 1'

Every code object that comes out of one compilation shares one file name object, so the life of that object
is the life of the code: when the last function made by a snippet is gone, so are its lines.
"""

from __future__ import annotations

import itertools
import linecache

_PREFIX = "<natural block "
_numbers = itertools.count(1)


class SourceName(str):
    """The file name of a snippet; takes its lines along when it goes."""

    __slots__ = ()

    def __del__(self) -> None:
        linecache.cache.pop(str(self), None)


def kept_source(place: str, source: str) -> SourceName:
    """Make the source known to `linecache` under a file name of its own."""
    name = SourceName(f"{_PREFIX}{place} #{next(_numbers)}>")
    # The cache gets a plain copy: holding the name itself it would never let it go.
    linecache.cache[str(name)] = (len(source), None, source.splitlines(True), str(name))
    return name


def is_snippet(filename: str) -> bool:
    """Whether code with this file name comes from a snippet."""
    return filename.startswith(_PREFIX)
