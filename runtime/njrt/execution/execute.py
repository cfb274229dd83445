"""Run the model's code at the place of its block, on the program's variables.

    prepare("n += 1\\nif n > 3: break", scope, labels=("break",))    a Snippet, or a Refusal
    execute(snippet)                                                Ran(value=None, printed="")
                                                                    or Jumped(Broke(), printed="")
                                                                    or Failed("TypeError: ...", "")

At the top level of a snippet, `break`, `continue`, `return` and `raise` act on the program. An
exception from a top-level `raise` is the block's own and is raised in the program; any other is the
model's mistake and is reported to the model. Some exceptions propagate: KeyboardInterrupt, the exit
or cancellation of the program, and an error of the runtime in a nested block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

from njrt.data.outcome import Raised, UserValue
from njrt.data.timeouts import DeadlineExceeded, await_with_timeout, call_with_timeout
from njrt.errors import CodeTimeLimitError
from njrt.execution.compile import Snippet, prepare
from njrt.execution.gates import hold_gate
from njrt.execution.interruptions import is_cancellation
from njrt.execution.lowering import ExitKind
from njrt.execution.results import Execution, Failed, Jumped, Ran, make_execution, make_failure
from njrt.execution.scope.names import read_cell
from njrt.execution.scope.scope import Scope
from njrt.execution.tracebacks import format_failure, leaves_block

__all__ = [
    "Execution", "Failed", "Jumped", "Ran", "Snippet", "aexecute", "execute",
    "make_time_limit_error", "prepare",
]  # fmt: skip


def execute(snippet: Snippet, *, seconds: float | None = None) -> Execution:
    """Run a snippet that does not await, for at most `seconds`.

    Raises exceptions that are not the model's mistakes: KeyboardInterrupt, SystemExit,
    GeneratorExit, cancellation, an error of the runtime from a nested block, and
    `CodeTimeLimitError` when the time is up.
    """
    try:
        if snippet.is_contained:
            from njrt.execution.contained.execute import execute_contained

            return execute_contained(snippet, seconds)
        result = call_with_timeout(seconds, start_snippet(snippet))
    except BaseException as error:
        return end_by_error(snippet, error)
    return end_by_result(snippet, result)


async def aexecute(snippet: Snippet, *, seconds: float | None = None) -> Execution:
    """Run a snippet of an async block; see `execute`."""
    if not snippet.is_async:
        return execute(snippet, seconds=seconds)
    try:
        if snippet.is_contained:
            from njrt.execution.contained.execute import aexecute_contained

            return await aexecute_contained(snippet, seconds)
        result = await await_with_timeout(seconds, hold_gate(start_snippet(snippet)()))
    except BaseException as error:
        return end_by_error(snippet, error)
    return end_by_result(snippet, result)


def start_snippet(snippet: Snippet) -> Callable[[], Any]:
    """Make a function that runs the code; `end_by_result` or `end_by_error` must handle its end."""
    if snippet.is_contained:
        raise AssertionError("contained code runs in a child")
    code, scope = snippet.code, snippet.scope
    snippet.raised.start()
    if scope.namespace is not None:
        return partial(_run_in_class, snippet)
    return FunctionType(code, scope.module, code.co_name, None, snippet.closure)


def end_by_error(snippet: Snippet, error: BaseException) -> Execution:
    """Return how a model's mistake ends a snippet; re-raise other exceptions (see `execute`)."""
    try:
        if isinstance(error, DeadlineExceeded):
            raise make_time_limit_error(error) from None
        if leaves_block(error) and not _is_for_program(error, snippet):
            raise error
        return _classify_error(error, snippet)
    finally:
        snippet.raised.clear()
        del error  # its traceback holds this frame


def make_time_limit_error(error: DeadlineExceeded) -> CodeTimeLimitError:
    """Make the error for code that was stopped at its time limit."""
    return CodeTimeLimitError(f"{error} and was stopped; the option max_code_seconds allows more")


def _run_in_class(snippet: Snippet) -> tuple[int, UserValue]:
    """Run the code in the namespace of a class body."""
    scope = snippet.scope
    namespace: Any = ClassNamespace(scope)
    exec(snippet.code, scope.module, namespace, closure=snippet.closure or None)
    kind = snippet.exit_kind.cell_contents or ExitKind.VALUE
    return kind, read_cell(snippet.exit_value)


def end_by_result(snippet: Snippet, result: tuple[int, UserValue] | None) -> Execution:
    """Return the execution for the result of the function that `start_snippet` made."""
    snippet.raised.clear()
    printed = snippet.scope.transcript.take()
    exit_kind, value = result if result is not None else (ExitKind.FELL_OFF, None)
    return make_execution(exit_kind, value, printed)


def _is_for_program(error: BaseException, snippet: Snippet) -> bool:
    """Return whether the code raised `error` for the program, which only an event loop cancels."""
    raised = snippet.raised
    return raised.is_own_error(error) and (raised.reraises or not is_cancellation(error))


def _classify_error(error: BaseException, snippet: Snippet) -> Execution:
    """Distinguish the block's own exception from a mistake by the model."""
    printed = snippet.scope.transcript.take()
    if not (_is_for_program(error, snippet) or snippet.raises_mistakes):
        name = error.name if isinstance(error, NameError) else None
        text = format_failure(error, snippet.code)
        return make_failure(snippet, error, text, name, printed)
    if snippet.raised.reraises:
        return Jumped(Raised(error.with_traceback(snippet.raised.traceback), True), printed)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not snippet.code:
        trace = trace.tb_next
    return Jumped(Raised(error.with_traceback(trace)), printed)


class ClassNamespace:
    """A class namespace as the snippet's code sees it, without the names that the compiler sets.

    The code of a class body sets `__module__` and `__qualname__` first, and other names last. The
    program's own class body has already done so.
    """

    __slots__ = ("_hidden", "_ignored_once", "_names")

    def __init__(self, scope: Scope) -> None:
        assert scope.namespace is not None
        self._names = scope.namespace
        self._hidden = scope.scratch.keys() | scope.borrowed.keys()
        self._ignored_once = {"__module__", "__qualname__", "__firstlineno__"}

    def __getitem__(self, name: str) -> UserValue:
        # A class body looks here first, even for nonlocal names; a block's own names are in cells.
        if name in self._hidden:
            raise KeyError(name)
        return self._names[name]

    def __setitem__(self, name: str, value: UserValue) -> None:
        if name in self._ignored_once:
            self._ignored_once.discard(name)
        elif name not in ("__static_attributes__", "__classdictcell__"):
            self._names[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
