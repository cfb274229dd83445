"""The process that runs code on examples: `python -m njc.evaluation.learning.evaluate`, started by `study`.

    received   {"program": "...", "code": "...", "examples": [...], ...}     the task
    sent       {"ask": {"question": "...", ...}}                             the code asks a model ...
    received   {"text": "..."}                                               ... and this is the answer
    sent       {"verdict": "wrong", "differences": ["`n` is 1, but should be 2"], "trace": {...}}

Only imports, classes, functions and assignments of the program are executed. Its prints are discarded.
"""

from __future__ import annotations

import ast
import asyncio
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from traceback import walk_tb
from typing import Any

import njrt
from njc.evaluation.execution_trace import StepRecorder
from njc.evaluation.repair.time_limit import TimeLimitError, limit_time, pause_time_limit
from njc.static.splice import list_guard_asserts, list_lines
from njc.worker import open_channel
from njrt.execution.lowering import find_host_jumps
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from njrt.records import record
from njrt.rendering.one_line import write_brief
from njrt.session.examples import RETURN_VALUE, Example, example_from_json
from njrt.values.encode import decode_values
from njrt.values.equality import is_same_value

MEMORY_LIMIT_BYTES = 2 << 30


def main() -> None:
    """Receive a task, run the code on each example, and send the verdicts."""
    channel = open_channel(MEMORY_LIMIT_BYTES)
    task = WorkerTask(**channel.receive())

    def ask(question: Mapping[str, Any]) -> str:
        channel.send({"ask": question})
        answer = channel.receive()
        if "error" in answer:
            raise njrt.ServerError(answer["error"])
        text: str = answer["text"]
        return text

    sys.path[:0] = task.folders
    with njrt.using(model=ForwardingModel(ask), cache=False):
        namespace = execute_definitions(task)
        for example in map(example_from_json, task.examples):
            channel.send(evaluate_example(task, example, namespace))


@record
class ForwardingModel:
    """A model that the parent process asks."""

    forward: Callable[[Mapping[str, Any]], str]
    protocol: Protocol = "text"
    name: str = "forwarded"

    def ask(self, request: Request) -> Reply:
        texts = [message.text for message in request.messages if isinstance(message, UserMessage)]
        with pause_time_limit():
            text = self.forward({"system": request.system, "question": "\n".join(texts)})
        return Reply(ModelMessage(text))

    async def aask(self, request: Request) -> Reply:
        """Do the same as `ask`; nothing else runs meanwhile."""
        return self.ask(request)


def execute_definitions(task: WorkerTask) -> dict[str, ProgramValue]:
    """Execute the program's definitions; definitions that fail and other statements are skipped."""
    module = types.ModuleType("program")
    sys.modules["program"] = module  # dataclasses and pydantic look up annotations here
    namespace = vars(module)
    namespace["__file__"] = task.path
    for statement in ast.parse(task.program).body:
        if isinstance(statement, _DEFINITION_TYPES):
            code = compile(ast.Module([statement], []), task.path, "exec", dont_inherit=True)
            with suppress(Exception, SystemExit), limit_time(SECONDS_PER_EXAMPLE):
                exec(code, namespace)
    return namespace


_DEFINITION_TYPES = (
    ast.Import,
    ast.ImportFrom,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Assign,
    ast.AnnAssign,
    getattr(ast, "TypeAlias", ast.AnnAssign),  # Python 3.12
)


# ── comparing one run of code with the recorded run ────────────────────────────────────────────────


_MAX_VALUE_CHARS = 240


def evaluate_example(
    task: WorkerTask, example: Example, namespace: dict[str, ProgramValue]
) -> dict[str, Any]:
    """Run the code on one example, and compare the result with the recorded result."""
    try:
        given = decode_values(example.before, namespace, example.classes)
        value = {} if example.value is None else {RETURN_VALUE: example.value}
        wanted = decode_values({**example.after, **value}, namespace, example.classes)
        untouched = decode_values(example.before, namespace, example.classes)
    except Exception as error:
        return {
            "verdict": "unusable",
            "reason": f"its values cannot be restored: {write_brief(error, 200)}",
        }
    returned = wanted.pop(RETURN_VALUE, None)
    untouched = {name: value for name, value in untouched.items() if name not in example.after}
    recorder = StepRecorder(
        lambda code: code.co_filename == CODE_FILENAME and code.co_name == _FUNCTION_NAME
    )
    try:
        how, result, variables = execute_once(task, given, namespace, recorder)
    except TimeLimitError:
        how, result, variables = "ran too long", None, {}
    if how == "unfit":
        return {"verdict": "unfit"}
    same_error = (
        example.outcome == "raised" and how == "raised" and type(result).__name__ == example.error
    )
    found: list[str] = []
    if how != example.outcome or (how == "raised" and not same_error):
        ended = f"raised {_format_value(result)}" if how == "raised" else how
        wanted_end = f"raised {example.error}" if example.outcome == "raised" else example.outcome
        found.append(f"it {ended}, but should have {wanted_end}")
    else:
        if how == "returned" and not is_same_value(result, returned):
            found.append(
                f"it returned {_format_value(result)}, but should have returned {_format_value(returned)}"
            )
        if how != "raised":
            found += _list_differences({**given, **variables}, wanted)
        found += _list_differences(given, untouched, "should still be")
    return {
        "verdict": "wrong" if found else "right",
        "differences": found,
        "trace": recorder.make_trace().to_json(),
    }


def _list_differences(
    variables: Mapping[str, ProgramValue],
    wanted: Mapping[str, ProgramValue],
    should: str = "should be",
) -> Iterator[str]:
    for path, value in wanted.items():
        if path not in variables:
            yield f"`{path}` is not bound, but should be {_format_value(value)}"
        elif not is_same_value(variables[path], value):
            yield f"`{path}` is {_format_value(variables[path])}, but {should} {_format_value(value)}"


def _format_value(value: ProgramValue) -> str:
    return write_brief(value, _MAX_VALUE_CHARS)


ProgramValue = Any

CODE_FILENAME = "<block>"
SECONDS_PER_EXAMPLE = 5.0
"""The default limit for one example, excluding the time of model calls."""
_FUNCTION_NAME = "_nj_block"
_LOCALS_NAME = "_nj_locals"
_JUMP_OUTCOMES = {ast.Break: "broke", ast.Continue: "continued", ast.Return: "returned"}


@record
class WorkerTask:
    """The program, the code, and the examples to run it on."""

    program: str
    path: str
    code: str
    helper: str
    class_name: str | None
    guards: bool
    """Whether the code's first `assert`s are its guard."""
    folders: Sequence[str]
    examples: Sequence[Mapping[str, Any]]
    seconds: float = SECONDS_PER_EXAMPLE


def execute_once(
    task: WorkerTask,
    given: Mapping[str, ProgramValue],
    namespace: dict[str, ProgramValue],
    recorder: StepRecorder,
) -> tuple[str, ProgramValue, Mapping[str, ProgramValue]]:
    """Run the code once; return how it ended, its value or exception, and the variables at the end."""
    function = _make_function(task, list(given), namespace)
    asserts = list_lines(list_guard_asserts(ast.parse(task.code))) if task.guards else set()
    is_async = bool(function.__code__.co_flags & 0x80)
    try:
        with limit_time(task.seconds), recorder:
            done = function(**given)
            how, result, variables = asyncio.run(done) if is_async else done
            return how, result, variables
    except Exception as error:
        frames = walk_tb(error.__traceback__)
        lines = (line for frame, line in frames if frame.f_code.co_filename == CODE_FILENAME)
        return ("unfit" if next(lines, None) in asserts else "raised"), error, {}


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
    before = dict(namespace)
    make_helper = njrt.allm_at if task.helper.startswith("allm") else njrt.llm_at
    namespace |= {_LOCALS_NAME: locals, task.helper: make_helper(task.path)}
    code = compile(ast.fix_missing_locations(tree), CODE_FILENAME, "exec", dont_inherit=True)
    exec(code, namespace)
    made = namespace[task.class_name or _FUNCTION_NAME]
    function: Callable[..., Any] = vars(made)[_FUNCTION_NAME] if task.class_name else made
    namespace |= before  # restore the program's values for these names
    return function


class _JumpRewriter(ast.NodeTransformer):
    """Turns the code's own jumps into returns that state the kind of jump."""

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


if __name__ == "__main__":
    main()
