"""Exceptions of contained code: a mistake for the model, or an exception of the program."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from njrt.data.outcome import Raised
from njrt.execution.compile import Snippet
from njrt.execution.contained.wire import Data, WireError
from njrt.execution.results import Execution, Jumped, make_failure
from njrt.execution.tracebacks import cut_middle, format_program_frames
from njrt.values.introspection import get_class_name, is_exactly

_MAX_LINE_CHARACTERS = 160
_MOST_NOTED = 5
"""How many frames of the code an exception of static code names."""
Frames = Sequence[tuple[str | None, int]]
"""The function and the line of each frame of the code; None for the code itself."""


def read_frames(frames: Sequence[Data]) -> list[tuple[str | None, int]]:
    """Return the names and lines of the frames of a mistake, as the child has sent them."""
    try:
        return [(it and cut_middle(str(it), 160), min(int(line), 2**20)) for it, line in frames]
    except (TypeError, ValueError):
        raise WireError("not a list of frames") from None


def fail(
    snippet: Snippet,
    error: BaseException,
    frames: Frames,
    how: tuple[bool, bool, str | None, str],
) -> Execution:
    """Return the end of code that raised an exception.

    `how` is whether it is the code's own, whether it is the one that the program handles, the name
    that was not bound, and the text.
    """
    is_own, reraises, name, text = how
    printed = snippet.scope.transcript.take()
    if is_own or snippet.raises_mistakes:
        if not is_own:  # its traceback ends at the block
            BaseException.add_note(error, "\n".join(_format_frames(snippet, frames[-_MOST_NOTED:])))
        return Jumped(Raised(error, is_own and reraises), printed)
    lines = format_program_frames(error, None, _format_frames(snippet, frames))
    return make_failure(snippet, error, "\n".join([text, *lines]), name, printed)


def _format_frames(snippet: Snippet, frames: Frames) -> Iterator[str]:
    filename = snippet.code.co_filename
    for code, line in frames:
        source = cut_middle(linecache.getline(filename, line).strip(), _MAX_LINE_CHARACTERS)
        yield f"  in {code or 'your code'}, line {line}" + (f": {source}" if source else "")


def describe_call(
    function: Any, target: Data, args: Sequence[Any], named: Mapping[str, Any]
) -> str:
    """Return a call as text, such as `pay(3)`, for the message to the model."""
    last = target[-1] if isinstance(target[-1], str) else get_class_name(type(function))
    name = getattr(function, "__name__", None) or last
    shown = [_show(it) for it in args] + [f"{key}={_show(it)}" for key, it in named.items()]
    return f"{name}({', '.join(shown)})"


def _show(value: Any) -> str:
    if is_exactly(value, str, int, float, bool, type(None)):
        return cut_middle(repr(value), 40)
    return get_class_name(type(value))
