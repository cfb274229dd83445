"""Running a program's tests in a process with limits, no inherited keys and an empty folder.

    run_tests("def total(prices): return 0", "assert total([3]) == 3", seconds=5.0)
        ->  FailedTests("assert total([3]) == 3", "`total([3])` is 0, but should be 3", ...)

The process is `python -m spsbench.repair.testing`; the first test statement that fails ends
it. A failed test is run again to record its steps, because recording is slow. An audit hook refuses
network access, processes and changes to files: it prevents accidents, but is not a sandbox.
"""

from __future__ import annotations

import ast
import ctypes
import os
import sys
import types
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from traceback import walk_tb
from types import FrameType
from typing import Any

from njc.measure.execution_trace import ExecutionTrace, StepRecorder
from njrt.data.records import field, record, replace
from njrt.data.timeouts import DeadlineExceeded, call_with_timeout
from njrt.values.dataclass_json import validate_value
from njrt.values.rendering.one_line import write_brief
from spsbench.worker import open_channel, open_worker

STARTUP_SECONDS = 20.0
DEFAULT_SECONDS = 5.0


@record
class PassedTests:
    """The tests raised no exception."""

    def __str__(self) -> str:
        return "passes"


@record
class FailedTests:
    """The first statement in the tests that failed."""

    test: str
    """Empty if the program itself could not be run."""
    problem: str
    """Such as "`total([3])` is 0, but should be 3"."""
    trace: ExecutionTrace = field(default_factory=ExecutionTrace)

    def __str__(self) -> str:
        return f"{self.test}: {self.problem}" if self.test else self.problem


TestOutcome = PassedTests | FailedTests


def run_tests(
    code: str,
    tests: str,
    seconds: float = DEFAULT_SECONDS,
    *,
    traces: bool = False,
    startup_seconds: float = STARTUP_SECONDS,
) -> TestOutcome:
    """Run a program's tests for at most `seconds`; with `traces`, a failure includes its steps.

    A process that does not stop by itself is killed after a further `startup_seconds`.
    """
    outcome = _run_once(code, tests, seconds, startup_seconds, traces=False)
    if not traces or isinstance(outcome, PassedTests):
        return outcome
    traced = _run_once(code, tests, seconds, startup_seconds, traces=True)
    # A failure that depends on time or chance may be different, or absent, the second time.
    is_same = isinstance(traced, FailedTests) and traced.test == outcome.test
    return replace(outcome, trace=traced.trace) if is_same else outcome  # type: ignore[union-attr]


def _run_once(
    code: str, tests: str, seconds: float, startup_seconds: float, *, traces: bool
) -> TestOutcome:
    task = {"code": code, "tests": tests, "seconds": seconds, "traces": traces}
    with open_worker("spsbench.repair.testing") as worker:
        worker.send(task)
        try:
            verdict = worker.receive(seconds + startup_seconds)
        except TimeoutError:
            return FailedTests("", f"it did not end within {seconds:g} seconds")
    if verdict is None:
        return FailedTests(
            "", "its process ended early: it crashed, exited or used too much memory"
        )
    if verdict["passed"]:
        return PassedTests()
    trace = validate_value(verdict["trace"], ExecutionTrace)
    return FailedTests(verdict["test"], verdict["problem"], trace)


MEMORY_LIMIT_BYTES = 1 << 30
FILE_LIMIT_BYTES = 1 << 20
PROGRAM_FILENAME = "<program>"
TESTS_FILENAME = "<tests>"
_MAX_TEST_CHARS = 600
_MAX_VALUE_CHARS = 200
_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_REFUSED_EVENTS = (
    *("socket.", "subprocess.", "ctypes.", "shutil.", "ftplib.", "urllib.", "winreg."),
    *("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.kill", "pty.spawn"),
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate"),
    *("os.chmod", "os.chown", "os.putenv", "os.unsetenv", "signal.pthread_kill"),
)


def main() -> None:
    """Read a task, run the tests, and send the verdict."""
    channel = open_channel(MEMORY_LIMIT_BYTES)
    task = channel.receive()
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, FILE_LIMIT_BYTES))
    sys.setrecursionlimit(1000)
    ctypes.pythonapi.PyThreadState_SetAsyncExc  # noqa: B018 - time limits use it, under the hook
    sys.addaudithook(_refuse_effects)
    channel.send(run_task(**task))


def _refuse_effects(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"tests may not use {event}")
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        is_writing_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
        if is_writing_mode or (isinstance(flags, int) and flags & _WRITING_FLAGS):
            raise PermissionError("tests may not write files")


def run_task(code: str, tests: str, seconds: float, traces: bool) -> Mapping[str, Any]:
    """Run a program's tests once; return whether they passed, or the failed statement and why."""
    recorder = StepRecorder(lambda traced: traced.co_filename == PROGRAM_FILENAME)
    module = types.ModuleType("program")
    sys.modules["program"] = module  # dataclasses look up their annotations here
    namespace = vars(module)

    def run() -> None:
        exec(compile(code, PROGRAM_FILENAME, "exec", dont_inherit=True), namespace)
        exec(compile(tests, TESTS_FILENAME, "exec", dont_inherit=True), namespace)

    try:
        with recorder if traces else nullcontext():
            call_with_timeout(seconds, run)
    except BaseException as error:
        test, problem = _describe_failure(error, tests, seconds)
        trace = recorder.make_trace().to_json()
        return {"passed": False, "test": test, "problem": problem, "trace": trace}
    return {"passed": True}


def _describe_failure(error: BaseException, tests: str, seconds: float) -> tuple[str, str]:
    """Return the failed statement (empty if the program itself could not be run) and the reason."""
    is_late = isinstance(error, DeadlineExceeded)
    ended = error.__context__ if is_late else error  # where the limit has interrupted the tests
    places = [
        (frame, statement)
        for frame, line in walk_tb(ended.__traceback__ if ended else None)
        if frame.f_code.co_filename == TESTS_FILENAME
        and (statement := _find_statement(tests, line))
    ]
    text, compared = "", ""
    if places:
        frame, statement = places[-1]
        text = ast.unparse(statement)
        text = text.partition("\n")[0] if hasattr(statement, "body") else text
        if isinstance(error, AssertionError):
            compared = str(error) or _describe_comparison(statement, frame, seconds)
    if is_late:
        return text[:_MAX_TEST_CHARS], f"it did not end within {seconds:g} seconds"
    return text[:_MAX_TEST_CHARS], compared or f"raised {write_brief(error, _MAX_VALUE_CHARS)}"


def _find_statement(tests: str, line: int) -> ast.stmt | None:
    """Return the innermost test statement at or around a line."""
    around = [
        node
        for node in ast.walk(ast.parse(tests))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, key=lambda node: node.lineno, default=None)


def _describe_comparison(statement: ast.stmt, frame: FrameType, seconds: float) -> str:
    """Return the values that an `assert` compares, computed again; empty if that fails."""
    match statement:
        case ast.Assert(ast.Compare(left, [operator], [right]), None):
            with suppress(BaseException):
                pair = ast.unparse(ast.Tuple([left, right], ast.Load()))
                found, wanted = call_with_timeout(
                    seconds, lambda: eval(pair, frame.f_globals, frame.f_locals)
                )
                text = ast.unparse(left)
                text = text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}..."
                should = f", but should be {write_brief(wanted, _MAX_VALUE_CHARS)}"
                ending = should if isinstance(operator, ast.Eq) else ""
                return f"`{text}` is {write_brief(found, _MAX_VALUE_CHARS)}{ending}"
    return ""


if __name__ == "__main__":
    main()
