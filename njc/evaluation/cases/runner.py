"""Running cases: calling the function, checking the result, and keeping each result as a line.

    run_case(target, case, "openai/gpt-4.1-mini", 1)      CaseResult(passed=False, problem="expected 'billing', got 'it'", ...)

Results are appended to a file, and a run that is interrupted continues from it. A result counts for one text of the case
and of the program, with the modules beside it that it imports, and for the options that are set, such as the model.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
import tempfile
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from copy import deepcopy
from itertools import groupby, zip_longest
from pathlib import Path
from subprocess import PIPE, Popen
from threading import Event
from typing import Any

from njc.evaluation.cases.case_file import Case, NumberedCase
from njc.evaluation.cases.imported_files import list_program_files
from njc.evaluation.comparison.results import ResultFile
from njc.interrupts import noticing_interrupt
from njc.project.config import describe_result_options, find_project
from njc.target import InvalidRowError, TargetFunction
from njc.trace_lines import (
    AskedLine,
    BeganLine,
    EndedLine,
    RepliedLine,
    TraceLine,
    read_written_trace,
)
from njrt.context import carry
from njrt.dataclass_json import make_json_value
from njrt.errors import (
    AuthenticationError,
    BudgetError,
    ConfigurationError,
    ModelNotFoundError,
    NaturalError,
    RecordingError,
    ServerError,
    StoreError,
)
from njrt.execution.tracebacks import format_error
from njrt.message_json import write_json
from njrt.observability.accounts import Watch, watch
from njrt.persistence.recorder import replaying
from njrt.records import record, replace
from njrt.rendering.writer import escape_unprintable
from njrt.session.layered_model import find_recorder
from njrt.session.settings import get_settings, using
from njrt.values.equality import is_same_value

_STOPPING = (
    *(ConfigurationError, AuthenticationError, ModelNotFoundError, ServerError),
    *(BudgetError, RecordingError, StoreError),
)
"""Errors of the setup rather than of a case: the command ends, and next time continues with this case."""

MAX_SHOWN, MAX_KEPT = 20_000, 4_000
"""Characters of prompts and replies kept in failed results, and in results that examples are taken from."""

VERSION_VARIABLE = "_NJC_VERSION"
"""A digest of all modules in the repository; results are only valid for this digest."""

ResultKey = tuple[str, str, str, int]
"""The digests of the program and of the case, the model, and the number of the repeat."""


@record
class BlockRun:
    """A block run: the prompt, and the only reply."""

    instruction: str
    effects: str
    model: str
    shown: str = ""
    """Empty if the case failed, the model was asked more than once, or the text is too long."""
    reply: str = ""
    probability: float | None = None
    """The answer's probability, if it was requested from the model and no other model was asked."""


@record
class CaseResult:
    """One run of a case."""

    program: str
    case: str
    model: str
    """The model, or "" for the configured one."""
    repeat: int
    passed: bool
    problem: str = ""
    calls: int = 0
    input: int = 0
    output: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    shown: str = ""
    blocks: tuple[BlockRun, ...] = ()
    warnings: tuple[str, ...] = ()
    """The blocks' warnings, such as that a block has changed nothing."""
    unpriced: int = 0
    """Calls without a known price, which `usd` omits."""

    @property
    def key(self) -> ResultKey:
        return self.program, self.case, self.model, self.repeat


@record
class PlannedRun:
    """A planned run of a case."""

    numbered: NumberedCase
    model: str
    repeat: int
    is_repeated: bool = False
    """Whether there are several runs of each case: none may be answered by the reply of another one."""

    def make_key(self, program: str) -> ResultKey:
        return program, self.numbered.digest, self.model, self.repeat


CaseResults = ResultFile[CaseResult]


def compute_program_digest(program: Path, target: str) -> str:
    """Return a digest of a program's files, the function's name, and the options that are set."""
    text = program.read_bytes() if program.is_file() else b""
    project = find_project(program, os.environ)
    name = target.rpartition(":")[2] + describe_result_options(project, os.environ)
    name += os.environ.get(VERSION_VARIABLE, "") + find_replayed_recording()
    module = target.rpartition(":")[0]
    depth = module.count(".") + (program.stem == "__init__")
    roots = () if Path(module).is_file() else program.absolute().parents[depth : depth + 1]
    _, *imported = list_program_files(program, (*project.src, *roots))
    name += "".join(sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in imported))
    return hashlib.sha256(text + name.encode()).hexdigest()[:12]


def find_replayed_recording() -> str:
    """Return a digest of the recording that replies are taken from; empty without one. Its results are kept apart."""
    recorder = find_recorder(get_settings(), os.environ)
    return recorder.replayed if recorder is not None else ""


def list_planned_runs(
    cases: Sequence[NumberedCase], models: Sequence[str], repeats: int
) -> list[PlannedRun]:
    """Return all runs, starting with the first repeat of all cases."""
    return [
        PlannedRun(numbered, model, repeat, repeats > 1)
        for repeat in range(1, repeats + 1)
        for model in models
        for numbered in cases
    ]


def collect_results(
    results: CaseResults, program: str, cases: Sequence[NumberedCase], model: str, repeats: int
) -> dict[str, list[CaseResult]]:
    """Return each case's known runs, by the case's digest."""
    found: dict[str, list[CaseResult]] = {numbered.digest: [] for numbered in cases}
    for run in list_planned_runs(cases, [model], repeats):
        if (result := results.known.get(run.make_key(program))) is not None:
            found[run.numbered.digest].append(result)
    return found


def run_cases(
    target: TargetFunction, planned: Sequence[PlannedRun], program: str, jobs: int
) -> Iterator[CaseResult]:
    """Yield the runs' results, model by model, `jobs` at a time; an error or interrupt is raised at the end."""
    with noticing_interrupt(_note_waiting) as interrupted:
        for model, runs in groupby(planned, key=lambda run: run.model):
            with asking(model):
                yield from _run_for_model(target, list(runs), program, jobs, interrupted)
            if interrupted.is_set():
                raise KeyboardInterrupt


def _run_for_model(
    target: TargetFunction, waiting: list[PlannedRun], program: str, jobs: int, interrupted: Event
) -> Iterator[CaseResult]:
    if jobs == 1:  # in this thread, because of what the program opens on import
        while waiting and not interrupted.is_set():
            yield carry(run_case)(target, waiting.pop(0), program)
        return
    with ThreadPoolExecutor(jobs) as pool:
        running: set[Future[CaseResult]] = set()
        errors: list[BaseException] = []
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    planned = waiting.pop(0)
                    running.add(pool.submit(carry(run_case), target, planned, program))
                try:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:  # the second one
                    os._exit(130)  # Python would wait for the threads
                errors += [error for future in done if (error := future.exception())]
                waiting = [] if errors or interrupted.is_set() else waiting  # start no more runs
                yield from (future.result() for future in done if not future.exception())
            if errors:
                raise errors[0]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _note_waiting() -> None:
    with suppress(RuntimeError):  # interrupted in the middle of another print
        print("\nwaiting for the running cases; Ctrl-C again discards them", file=sys.stderr)


def run_case(target: TargetFunction, planned: PlannedRun, program: str) -> CaseResult:
    """Call the function for a case and check the result; raises the errors in `_STOPPING`."""
    case, began = planned.numbered.case, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        with watch() as account, using(trace=trace), replaying(planned.model):
            try:
                arguments, result = _call(target, planned.numbered)
                problem = "; ".join(_list_problems(target, case, result, arguments))
            except _STOPPING:
                raise
            except (Exception, SystemExit, GeneratorExit, CancelledError) as error:
                problem = _describe_error(error)
        _raise_stopping(account)
        replies = [call.reply for run in account.runs for call in run.calls if call.reply]
        if planned.is_repeated and any(reply.source == "cache" for reply in replies):
            problem = "answered by the cache; --repeats needs runs without it"
            raise ConfigurationError(f"{planned.numbered.title}: {problem}")
        lines = read_written_trace(trace)  # if a block has run
        totals = account.totals
        return CaseResult(
            program,
            planned.numbered.digest,
            planned.model,
            planned.repeat,
            not problem,
            problem,
            totals.calls,
            totals.input_tokens,
            totals.output_tokens,
            totals.usd,
            round(time.monotonic() - began, 3),
            _format_shown(lines) if problem else "",
            tuple(_list_block_runs(lines, not problem)),
            tuple(it for line in lines if isinstance(line, EndedLine) for it in line.warnings),
            totals.unpriced,
        )


def _raise_stopping(account: Watch) -> None:
    """Raise an error of the setup, even if the program has caught it."""
    for error in account.errors:
        if isinstance(error, _STOPPING):
            raise error


def accept_case(target: TargetFunction, numbered: NumberedCase, model: str = "") -> Case:
    """Call the function for a case without an expected result; return the case with the result."""
    case = numbered.case
    try:
        with watch() as account, replaying(model):
            arguments, result = _call(target, numbered)
        _raise_stopping(account)
        now = {name: _to_json(value, case.inputs.get(name)) for name, value in arguments.items()}
        expected = _to_json(result, None)
    except NaturalError:
        raise
    except (Exception, SystemExit, GeneratorExit, CancelledError) as error:
        problem = _describe_error(error)
        raise ConfigurationError(f"{numbered.title}: no result to accept: {problem}") from None
    changed = {n: now[n] for n, it in case.inputs.items() if n in now and not _is_equal(now[n], it)}
    if result is None and changed:
        return replace(case, after=changed)
    return replace(case, expect=expected, after=changed)


def asking(model: str) -> AbstractContextManager[None]:
    """Ask this model instead of the configured one; an empty name leaves the configured model."""
    return set_variable("NJC_REPLACE_MODEL", f"={model}") if model else nullcontext()


@contextmanager
def set_variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable, and restore it afterwards."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def run_eval_process(
    target: str,
    cases: Path,
    out: Path,
    models: Sequence[str] = (),
    *,
    repeats: int = 1,
    jobs: int = 1,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Run the cases on a version of a program in another process, which writes `out`; raises ConfigurationError."""
    words = [target, str(cases.absolute()), "--out", str(out.absolute())]
    words += ["--repeats", str(repeats), "-j", str(jobs), *(f"--model={it}" for it in models if it)]
    # A file imports its own version of the modules beside it, a module those in the working directory.
    safe_path = ["-P"] if Path(target.rpartition(":")[0]).is_file() else []
    command = [sys.executable, *safe_path, "-m", "njc", "eval", *words]
    # With two pipes, `communicate` waits in Python, which raises interrupts immediately; with one, maybe at the end.
    with Popen(command, env=environ, stdout=PIPE, stderr=PIPE, text=True) as process:
        try:
            errors = process.communicate()[1]
        except KeyboardInterrupt:  # the process has received it, too
            if process.poll() is None:
                _note_waiting()
            process.communicate()
            raise
        finally:
            process.kill()
    if process.returncode:
        raise ConfigurationError(f"the cases cannot be run: {errors.strip()[-2000:]}")


def _call(target: TargetFunction, numbered: NumberedCase) -> tuple[dict[str, Any], Any]:
    case, title = numbered.case, numbered.title
    try:
        # The function may change the inputs, and the case is called again.
        positional, named = target.bind_arguments(deepcopy(case.inputs))
    except InvalidRowError as error:
        raise ConfigurationError(f"{title}: the inputs do not fit {target.name}: {error}") from None
    arguments = dict(zip(target.parameters, positional, strict=False)) | named
    if unknown := [name for name in case.after if name not in arguments]:
        message = f"`after` names `{unknown[0]}`, which is not an argument of the case"
        raise ConfigurationError(f"{title}: {message}")
    return arguments, target.call(positional, named)


def _describe_error(error: BaseException) -> str:
    """Return an exception as text that any terminal and encoding accepts."""
    return "\n".join(map(escape_unprintable, format_error(error).split("\n")))


def _list_problems(
    target: TargetFunction, case: Case, result: Any, arguments: dict[str, Any]
) -> Iterator[str]:
    if case.has_expected_result and not _is_equal(
        got := _to_json(result, case.expect), case.expect
    ):
        yield "expected {}, got {}".format(*_cut_both(case.expect, got))
    for name, expected in case.after.items():
        if not _is_equal(got := _to_json(arguments[name], expected), expected):
            wanted, shown = _cut_both(expected, got)
            yield f"`{name}` should be {wanted} after the call, and is {shown}"
    if case.check:
        names = {**vars(inspect.getmodule(target.function)), **arguments, "result": result}
        if not eval(case.check.strip(), names):
            yield f"`{case.check}` is false; result = {_cut(result)}"


def _to_json(value: Any, expected: Any) -> Any:
    """Return a value's JSON form; sets with the expected items are in the expected order, others in a fixed order."""
    return _order_sets(value, make_json_value(value), expected)


def _order_sets(value: Any, form: Any, expected: Any) -> Any:
    """Return `form`, the JSON of a value, with the items of sets in order."""
    if isinstance(form, list) and isinstance(value, set | frozenset):
        ordered = (_order_sets(item, each, None) for item, each in zip(value, form, strict=True))
        items = sorted(ordered, key=write_json)
        if not isinstance(expected, list) or len(items) != len(expected):
            return items
        if _is_equal(items, sorted(expected, key=write_json)):
            return expected
        rest = [*zip(value, form, strict=True)]
        has_parts = any(isinstance(each, list | dict) for each in form)
        for wanted in expected if has_parts else ():
            fits = (at for at, it in enumerate(rest) if _is_equal(_order_sets(*it, wanted), wanted))
            if (found := next(fits, None)) is None:
                return items
            del rest[found]
        return items if rest else expected
    if isinstance(form, list) and isinstance(value, list | tuple | deque):
        items = expected[: len(form)] if isinstance(expected, list) else []
        return [_order_sets(*parts) for parts in zip_longest(value, form, items)]
    if isinstance(form, dict):
        wanted = expected if isinstance(expected, dict) else {}
        if isinstance(value, dict):
            parts = list(value.values())
        else:  # a dataclass, or a model of pydantic
            fields = getattr(type(value), "model_fields", {}).items()
            names = {each.serialization_alias or name: name for name, each in fields}
            parts = [getattr(value, names.get(key, str(key)), None) for key in form]
        if len(parts) == len(form):
            pairs = zip(parts, form.items(), strict=True)
            return {key: _order_sets(part, each, wanted.get(key)) for part, (key, each) in pairs}
    return form


def _is_equal(got: Any, expected: Any) -> bool:
    """Return whether two JSON values are equal; unlike for `==`, `1` and `true` are not."""
    return bool(got == expected) and is_same_value(got, expected)


def _cut(value: Any, most: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def _cut_both(expected: Any, got: Any, most: int = 200) -> tuple[str, str]:
    """Return two values as texts of limited length, starting shortly before their first difference."""
    texts = repr(expected), repr(got)
    at = len(os.path.commonprefix(texts))  # noqa: RUF071, these are texts
    start = max(0, at - most // 2) if max(map(len, texts)) > most else 0
    first, second = (f"{'...' * (start > 0)}{text[start : start + most]}{'...' * (len(text) > start + most)}" for text in texts)  # fmt: skip
    return first, second


def _list_block_runs(lines: Sequence[TraceLine], has_passed: bool) -> Iterator[BlockRun]:
    first_lines: dict[str, BeganLine] = {}
    asked: dict[str, list[tuple[str, str]]] = {}
    sure: dict[str, float] = {}
    for line in lines:
        match line:
            case BeganLine(run=run, instruction=[_, *_]):
                first_lines[run] = line
                asked[run] = []
            case AskedLine(run=run, shown=[*_, {"user": list(shown)}]) if run in asked:
                asked[run].append(("\n".join(shown), ""))
            case RepliedLine(run=run, reply={"text": list(text)} as fields) if asked.get(run):
                asked[run][-1] = asked[run][-1][0], "\n".join(text)
                if "probability" in fields:
                    sure[run] = fields["probability"]
    for name, first in first_lines.items():
        opening, reply = asked[name][0] if len(asked[name]) == 1 else ("", "")
        if len(opening) + len(reply) > MAX_KEPT or not (reply and has_passed):
            opening = reply = ""
        instruction = "\n".join(first.instruction)
        yield BlockRun(instruction, first.effects, first.model, opening, reply, sure.get(name))


def _format_shown(lines: Sequence[TraceLine]) -> str:
    parts: list[str] = []
    for line in lines:
        match line:
            case BeganLine(place=place):
                parts.append(f"== {place}")
            case AskedLine(shown=messages):
                parts += map(_write, messages)
            case RepliedLine(reply=reply):
                parts.append(f"-> {_write(reply)}")
            case EndedLine(warnings=warnings):
                parts += [f"warning: {warning}" for warning in warnings]
    text = "\n".join(parts)
    if len(text) <= MAX_SHOWN:
        return text
    kept = text[-MAX_SHOWN:].partition("\n== ")  # the last blocks, whole ones if possible
    end = f"== {kept[2]}" if kept[2] else kept[0]
    return f"... ({len(text) - len(end):,} characters before are left out)\n{end}"


def _write(value: Any) -> str:
    """Return a value from a trace as text: lists and objects as lines, numbers and the like as JSON."""
    if isinstance(value, list):
        return "\n".join(map(_write, value))
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key != "usage"}
        return "\n".join(
            _write(part) if isinstance(part, list | dict) else f"{key}: {part}"
            for key, part in kept.items()
        )
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
