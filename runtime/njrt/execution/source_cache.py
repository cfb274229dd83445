"""The source lines of snippets, for tracebacks and `inspect`, as long as their code can still run.

    code = compile(tree, register_source("mailbox.njpy:12", "y = 1"), "exec")
    linecache.getline(code.co_filename, 1)      'y = 1'

Every code object that comes out of one compilation shares one file name object, so the life of that object
is the life of the code: when the last function made by a snippet is gone, so are its lines.
"""

from __future__ import annotations

import itertools
import linecache

_FILENAME_PREFIX = "<natural block "
_snippet_numbers = itertools.count(1)


class SnippetFilename(str):
    """The file name of a snippet; takes its lines along when it goes."""

    __slots__ = ()

    def __del__(self) -> None:
        linecache.cache.pop(str(self), None)


def register_source(place: str, source: str) -> SnippetFilename:
    """Make the source known to `linecache` under a file name of its own."""
    name = SnippetFilename(f"{_FILENAME_PREFIX}{place} #{next(_snippet_numbers)}>")
    # The cache gets a plain copy: holding the name itself it would never let it go.
    linecache.cache[str(name)] = (len(source), None, source.splitlines(True), str(name))
    return name


def is_snippet(filename: str) -> bool:
    """Whether code with this file name comes from a snippet."""
    return filename.startswith(_FILENAME_PREFIX)
