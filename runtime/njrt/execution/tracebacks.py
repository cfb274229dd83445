"""Format exceptions for the model: type, message and the lines of its code.

    ZeroDivisionError: division by zero
      in your code, line 2: share = total / len(items)

    KeyError: 'b'
      in your code, line 1: price_of('b')
      in price_of (shop.py:12): return prices[name]

The runtime's frames are left out, and long texts and deep stacks are cut. If an exception's message
cannot be computed, only its type is shown.
"""

from __future__ import annotations

import itertools
import linecache
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from types import CodeType, TracebackType

from njrt.data.timeouts import call_with_timeout
from njrt.errors import NaturalError
from njrt.execution.interruptions import is_cancellation, is_interruption
from njrt.execution.source_cache import is_snippet

_RUNTIME = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_RUN_MODULES = ("njrt.block.session.question", "njrt.block.session.run_block")
"""The modules with the functions that programs call to run a block or ask a model."""
_MAX_FRAMES = 8
_MESSAGE_SECONDS = 1.0
_MAX_CHARACTERS = 2000
_MAX_LINE_CHARACTERS = 160


def format_failure(error: BaseException, body: CodeType) -> str:
    """Describe an exception that escaped from the snippet with the code `body`."""
    return "\n".join([format_error(error), *format_program_frames(error, body)])


def format_error(error: BaseException) -> str:
    """Format an exception's type, message and notes, bounded in length and time; never raises."""
    name = type(error).__qualname__.rpartition("<locals>.")[2]
    try:
        message = call_with_timeout(_MESSAGE_SECONDS, lambda: str(error))
    except BaseException as nested:
        if is_interruption(nested):
            raise
        message = f"<its message cannot be shown: {type(nested).__name__}>"
    message = message.replace("\n", "\n    ")  # none of its lines can be mistaken for ours
    text = f"{name}: {message}" if message else name
    notes = getattr(error, "__notes__", None)
    if isinstance(notes, list):
        texts = (note for note in notes if isinstance(note, str))
        text = "\n    ".join([text, *(note.replace("\n", "\n    ") for note in texts)])
    if isinstance(error, BaseExceptionGroup):
        text = "\n".join([text, *(f"  - {format_error(each)}" for each in error.exceptions[:5])])
    return cut_middle(text, _MAX_CHARACTERS)


def has_left_block(error: BaseException) -> bool:
    """Return whether an exception passed through another block's run, so that it is the program's.

    The first frame, which handles it, belongs to the run of this snippet itself.
    """
    frames = itertools.islice(traceback.walk_tb(error.__traceback__), 1, None)
    return any(frame.f_globals.get("__name__") in _RUN_MODULES for frame, _ in frames)


def leaves_block(error: BaseException) -> bool:
    """Return whether an exception is external, or of the runtime or program, not of model code."""
    if isinstance(error, RecursionError):
        return is_stack_deep() or has_left_block(error)
    if is_cancellation(error):
        return is_interruption(error)
    is_mistake = isinstance(error, Exception) and not isinstance(error, NaturalError)
    return not is_mistake or is_interruption(error)


def is_stack_deep() -> bool:
    """Return whether the program has used more than half of its recursion limit here."""
    try:
        sys._getframe(sys.getrecursionlimit() // 2)
    except ValueError:
        return False
    return True


def cut_middle(text: str, most: int) -> str:
    """Cut the middle out of a text of more than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters left out) … {text[-half:]}"


def format_program_frames(
    error: BaseException, body: CodeType | None = None, outer: Iterable[str] = ()
) -> list[str]:
    """Return `outer`, and the lines of the program and `body` that an exception passed through."""
    frames = [*outer, *_format_frames(error.__traceback__, body)]
    if len(frames) <= _MAX_FRAMES:
        return frames
    half = _MAX_FRAMES // 2
    return [*frames[:half], f"  … {len(frames) - 2 * half} more …", *frames[-half:]]


def _format_frames(trace: TracebackType | None, body: CodeType | None) -> Iterator[str]:
    for frame, number in traceback.walk_tb(trace):
        code = frame.f_code
        if code is body:
            where = f"your code, line {number}"
        elif is_snippet(code.co_filename):
            where = f"{code.co_name}, line {number}"
        elif code.co_filename.startswith(_RUNTIME):
            continue
        else:
            where = f"{code.co_name} ({os.path.basename(code.co_filename)}:{number})"
        source = linecache.getline(code.co_filename, number, frame.f_globals).strip()
        yield f"  in {where}" + (f": {cut_middle(source, _MAX_LINE_CHARACTERS)}" if source else "")


def format_syntax_error(error: SyntaxError) -> str:
    """Format a syntax error with its line and a caret."""
    line = f", line {error.lineno}" if error.lineno else ""
    text = f"syntax error{line}: {error.msg}"
    if error.text and error.offset and len(error.text) <= 200:
        line = error.text.rstrip("\n")
        text += f"\n    {line.expandtabs(1)}\n    {' ' * (error.offset - 1)}^"
    return text
