"""What the recorders of executions ask of code and frames.

    is_expression_code(code)     True for a comprehension, which belongs to the line that has it
    is_at_yield(frame)           True where a generator is left or entered again
    is_at_exit(frame)            True at a return or a yield: elsewhere, a frame is left by an exception

`njc.evaluation.execution_trace` records what each line changed, `spsbench.states` the state before each line; both leave out the
same code and need to know how a frame is left, because `sys.settrace` says None for an exception, too.
"""

from __future__ import annotations

import dis
from types import CodeType, FrameType

STATEMENT_CODE = ("<module>", "<lambda>")
"""Names in angle brackets of code that has lines of its own."""


def is_expression_code(code: CodeType) -> bool:
    """Return whether code is a comprehension, a generator expression, or the type parameters of a definition."""
    return code.co_name.startswith("<") and code.co_name not in STATEMENT_CODE


def is_at_exit(frame: FrameType) -> bool:
    """Return whether a frame is at a `return` or a `yield`."""
    return _get_instruction(frame).startswith("RETURN") or is_at_yield(frame)


def is_at_yield(frame: FrameType) -> bool:
    """Return whether a frame is at a `yield`; from Python 3.13 on, its last instruction is then RESUME."""
    return _get_instruction(frame) in ("YIELD_VALUE", "RETURN_GENERATOR", "RESUME")


def _get_instruction(frame: FrameType) -> str:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]]
