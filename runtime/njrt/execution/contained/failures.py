"""Exceptions of contained code: a mistake for the model, or an exception of the program."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from njrt.execution.compile import Snippet
from njrt.execution.contained.wire import Data, WireError
from njrt.execution.results import Execution, Jumped, make_failure
from njrt.execution.tracebacks import cut_middle, format_program_frames
from njrt.outcome import Raised
from njrt.values.introspection import get_class_name, is_exactly

_MAX_LINE_CHARACTERS = 160
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
        if is_own and reraises:
            return Jumped(Raised(error, True), printed)
        line = next((line for code, line in frames if code is None), 1)
        return Jumped(Raised(place_error(error, snippet.code, line)), printed)
    lines = format_program_frames(error, None, _format_frames(snippet, frames))
    return make_failure(snippet, error, "\n".join([text, *lines]), name, printed)


def _format_frames(snippet: Snippet, frames: Frames) -> Iterator[str]:
    filename = snippet.code.co_filename
    for code, line in frames:
        source = cut_middle(linecache.getline(filename, line).strip(), _MAX_LINE_CHARACTERS)
        yield f"  in {code or 'your code'}, line {line}" + (f": {source}" if source else "")


def place_error(error: BaseException, code: CodeType, line: int) -> BaseException:
    """Return the exception with a traceback that starts at its line in the code.

    It is raised in another thread: a traceback's frame keeps its callers' frames alive, and so the
    program's objects.
    """
    raising = compile("\n" * (line - 1) + "raise errors.pop()", code.co_filename, "exec")
    raising = raising.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    context, errors = error.__context__, [error]
    thread = threading.Thread(target=_raise, args=(raising, errors))
    thread.start()
    thread.join()
    error.__context__ = context
    return errors.pop()


def _raise(raising: CodeType, errors: list[BaseException]) -> None:
    """Execute code that raises the exception in the list; put it back with its traceback."""
    try:
        exec(raising, {"errors": errors})
    except BaseException as error:
        trace = error.__traceback__
        below = trace.tb_next if trace is not None else None
        errors.append(BaseException.with_traceback(error, below))  # the code may have set its own


def describe_call(
    function: Any, target: Data, args: Sequence[Any], named: Mapping[str, Any]
) -> str:
    """Return a call as text, such as `pay(3)`, for the message to the model."""
    name = getattr(function, "__name__", None) or target[-1]
    shown = [_show(it) for it in args] + [f"{key}={_show(it)}" for key, it in named.items()]
    return f"{name}({', '.join(shown)})"


def _show(value: Any) -> str:
    if is_exactly(value, str, int, float, bool, type(None)):
        return cut_middle(repr(value), 40)
    return get_class_name(type(value))
