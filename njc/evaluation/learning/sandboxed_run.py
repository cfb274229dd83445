"""Running code once, as in its place in the program: with given variables, and a record of what it changes.

    for price in prices:                    def _nj_block(prices, limit, spent):
        if price > limit:                       for price in prices:
            continue                                if price > limit:
        spent += price                                  continue
    if spent > limit:               ->                spent += price
        break                                   if spent > limit:
                                                    return "broke", None, locals()
                                                return "completed", None, locals()

The code's jumps become returns with the kind of the jump. Each line that runs is recorded with the variables that it
changed.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import njrt
from njc.evaluation.execution_trace import StepRecorder
from njc.evaluation.repair.time_limit import limit_time
from njc.static.splice import list_guard_asserts, list_lines
from njrt.execution.lowering import find_host_jumps

ProgramValue = Any
"""A value of the program."""

CODE_FILENAME = "<block>"
SECONDS_PER_EXAMPLE = 5.0
"""The default limit for one example, without the time of model calls."""
_FUNCTION_NAME = "_nj_block"
_LOCALS_NAME = "_nj_locals"
_JUMP_OUTCOMES = {ast.Break: "broke", ast.Continue: "continued", ast.Return: "returned"}


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """The program, the code, and the examples to run it on."""

    program: str
    path: str
    code: str
    helper: str
    class_name: str | None
    guards: bool
    """Whether the first `assert`s of the code are its guard."""
    folders: Sequence[str]
    examples: Sequence[Mapping[str, Any]]
    seconds: float = SECONDS_PER_EXAMPLE
    """The limit for one example, without the time of model calls."""


def make_recorder() -> StepRecorder:
    """Return the recorder of one run of the code."""
    return StepRecorder(
        lambda code: code.co_filename == CODE_FILENAME and code.co_name == _FUNCTION_NAME
    )


def execute_once(
    task: WorkerTask,
    given: Mapping[str, ProgramValue],
    namespace: dict[str, ProgramValue],
    recorder: StepRecorder,
) -> tuple[str, ProgramValue, Mapping[str, ProgramValue]]:
    """Run the code once; return how it ended, the value or exception, and the variables at its end."""
    function = _make_function(task, list(given), namespace)
    asserts = list_lines(list_guard_asserts(ast.parse(task.code))) if task.guards else set()
    is_async = bool(function.__code__.co_flags & 0x80)
    try:
        with limit_time(task.seconds), recorder:
            done = function(**given)
            how, result, variables = asyncio.run(done) if is_async else done
            return how, result, variables
    except AssertionError as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_frame.f_code.co_filename != CODE_FILENAME:
            frame = frame.tb_next
        is_guard = frame is not None and frame.tb_lineno in asserts
        return ("unfit" if is_guard else "raised"), error, {}
    except Exception as error:
        return "raised", error, {}


def _make_function(
    task: WorkerTask, names: Sequence[str], namespace: dict[str, ProgramValue]
) -> Callable[..., Any]:
    """Make a function of the code: its parameters are the variables that have values."""
    body = ast.parse(task.code, CODE_FILENAME).body
    jumps = {id(jump) for jump in find_host_jumps(body)}
    body = [_JumpRewriter(jumps).visit(statement) for statement in body]
    awaits = any(isinstance(node, ast.Await) for statement in body for node in ast.walk(statement))
    head = f"{'async ' if awaits else ''}def {_FUNCTION_NAME}({', '.join(names)}): pass"
    around = ast.parse(head, CODE_FILENAME).body[0]
    assert isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef)
    around.body = [*body, _make_exit("completed", ast.Constant(None), body[-1])]
    tree = ast.Module([around], [])
    if task.class_name:
        class_ = ast.parse(f"class {task.class_name}: pass", CODE_FILENAME).body[0]
        assert isinstance(class_, ast.ClassDef)
        class_.body = [around]
        tree = ast.Module([class_], [])
    space = PatchedNamespace(namespace, {_LOCALS_NAME: locals, task.helper: _make_helper(task)})
    exec(
        compile(ast.fix_missing_locations(tree), CODE_FILENAME, "exec", dont_inherit=True),
        space.globals,
    )
    made = space.globals[task.class_name or _FUNCTION_NAME]
    function: Callable[..., Any] = vars(made)[_FUNCTION_NAME] if task.class_name else made
    space.restore()
    return function


class PatchedNamespace:
    """The program's namespace with a few more names; names of the program are restored afterwards."""

    def __init__(
        self, namespace: dict[str, ProgramValue], more: Mapping[str, ProgramValue]
    ) -> None:
        self.globals = namespace
        self._before = dict(namespace)
        namespace.update(more)

    def restore(self) -> None:
        """Restore the values that the program had under these names."""
        self.globals.update(self._before)


def _make_helper(task: WorkerTask) -> Callable[..., Any]:
    at = njrt.allm_at if task.helper.startswith("allm") else njrt.llm_at
    return at(task.path)


class _JumpRewriter(ast.NodeTransformer):
    """Turns the code's own jumps into returns with their kind."""

    def __init__(self, jumps: set[int]) -> None:
        self.jumps = jumps

    def visit(self, node: ast.AST) -> Any:
        if id(node) not in self.jumps:
            return self.generic_visit(node)
        value = getattr(node, "value", None) or ast.Constant(None)
        assert isinstance(node, ast.stmt)
        return _make_exit(_JUMP_OUTCOMES[type(node)], value, node)


def _make_exit(how: str, value: ast.expr, at: ast.stmt) -> ast.stmt:
    variables = ast.Call(ast.Name(_LOCALS_NAME, ast.Load()), [], [])
    done = ast.Return(ast.Tuple([ast.Constant(how), value, variables], ast.Load()))
    return ast.copy_location(done, at)
