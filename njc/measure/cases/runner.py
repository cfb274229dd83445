"""Running cases: calling the function, and checking the result.

    run_case(target, Form("openai/gpt-4.1-mini"), case, folder)
        ->  CaseResult(problem="expected 'billing', got 'it'", ...)

Replies are kept in a cache for each repeat, so that an interrupted run asks only for the others.
"""

from __future__ import annotations

import inspect
import math
import os
import time
from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from njc.measure.cases.case_file import ABSENT, Case
from njc.target import InvalidRowError, TargetFunction
from njrt.block.session.settings import using
from njrt.data.context import carry
from njrt.data.records import record
from njrt.errors import (
    AuthenticationError,
    BudgetError,
    ConfigurationError,
    ModelNotFoundError,
    RecordingError,
    ServerError,
    StoreError,
)
from njrt.execution.tracebacks import format_error
from njrt.log.accounts import Totals, watch
from njrt.values.dataclass_json import make_json_value
from njrt.values.rendering.one_line import write_brief
from njrt.values.rendering.writer import escape_unprintable

_STOPPING = (
    *(ConfigurationError, AuthenticationError, ModelNotFoundError, ServerError),
    *(BudgetError, RecordingError, StoreError),
)
"""Errors of the setup, not of a case: the command ends, and next time continues with this case."""

MAX_SHOWN = 200
"""Characters of a value in a problem."""


@record
class Form:
    """One of the forms of a program that are compared."""

    model: str = ""
    """The model to ask, or "" for the configured one."""
    mode: str = ""
    """The mode of its blocks, or "" for the configured one."""
    decide: bool | None = None
    """Whether blocks that can decide do so; None leaves that to the program."""


@record
class CaseResult:
    """One run of a case; it passed if there is no problem."""

    case: Case
    problem: str
    usage: Totals
    seconds: float
    asked: tuple[str, ...]
    """The names of the models that the blocks asked."""
    probability: float | None = None
    """The least probability of the answers that the blocks chose; None if no block decided."""

    @property
    def has_passed(self) -> bool:
        return not self.problem


def run_cases(
    target: TargetFunction, form: Form, planned: Sequence[tuple[Case, Path | None]], jobs: int
) -> Iterator[CaseResult]:
    """Yield the results of cases, each with the folder of its replies; an error ends the runs."""
    with setting_variable("NJC_REPLACE_MODEL", form.model and f"={form.model}"):
        if jobs == 1:  # in this thread, because of what the program opens on import
            yield from (run_case(target, form, *run) for run in planned)
            return
        with ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(carry(run_case), target, form, *run) for run in planned]
            try:
                yield from (future.result() for future in as_completed(futures))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def run_case(
    target: TargetFunction, form: Form, case: Case, cache: Path | None = None
) -> CaseResult:
    """Call the function for a case and check the result; raises the errors in `_STOPPING`."""
    began = time.monotonic()
    settings: dict[str, Any] = {} if form.decide is None else {"decide": form.decide}
    with watch() as account, using(cache=cache or False, **settings):
        try:
            arguments, result = _call(target, case)
            problem = "; ".join(_list_problems(target, case, result, arguments))
        except _STOPPING:
            raise
        except (Exception, SystemExit, GeneratorExit, CancelledError) as error:
            problem = "\n".join(map(escape_unprintable, format_error(error).split("\n")))
    for stopped in account.errors:  # even if the program has caught it
        if isinstance(stopped, _STOPPING):
            raise stopped
    return CaseResult(
        case,
        problem,
        account.totals,
        time.monotonic() - began,
        tuple(dict.fromkeys(run.model for run in account.runs if run.model)),
        min((it.certainty for it in account.runs if it.certainty is not None), default=None),
    )


@contextmanager
def setting_variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment meanwhile; an empty value leaves it as it is."""
    before = os.environ.get(name)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def _call(target: TargetFunction, case: Case) -> tuple[dict[str, Any], Any]:
    try:
        # The function may change the inputs, and the case is called again.
        positional, named = target.bind_arguments(deepcopy(case.inputs))
    except InvalidRowError as error:
        given = ", ".join(case.inputs) or "nothing"
        raise ConfigurationError(
            f"{case.name} gives {given}, which does not fit {target.name}: {error}"
        ) from None
    arguments = dict(zip(target.signature.parameters, positional, strict=False)) | named
    return arguments, target.call(positional, named)


def _list_problems(
    target: TargetFunction, case: Case, result: Any, arguments: dict[str, Any]
) -> Iterator[str]:
    if case.expect is not ABSENT and not _is_equal(got := make_json_value(result), case.expect):
        yield f"expected {write_brief(case.expect, MAX_SHOWN)}, got {write_brief(got, MAX_SHOWN)}"
    for name, expected in case.after.items():
        if not _is_equal(got := make_json_value(arguments.get(name)), expected):
            shown, found = write_brief(expected, MAX_SHOWN), write_brief(got, MAX_SHOWN)
            yield f"`{name}` should be {shown} after the call, and is {found}"
    if case.check:
        names = {**vars(inspect.getmodule(target.function)), **arguments, "result": result}
        try:
            is_true = eval(case.check.strip(), names)
        except (NameError, SyntaxError) as error:  # a mistake in the file of cases
            raise ConfigurationError(
                f"{case.name}: `check` is no expression here: {error}"
            ) from None
        if not is_true:
            yield f"`{case.check}` is false; result = {write_brief(result, MAX_SHOWN)}"


def _is_equal(got: Any, expected: Any) -> bool:
    """Return whether two JSON values are equal: floats nearly, and `1` and `true` are not."""
    match got, expected:
        case list(), list():
            return len(got) == len(expected) and all(map(_is_equal, got, expected))
        case dict(), dict():
            same_keys = got.keys() == expected.keys()
            return same_keys and all(_is_equal(got[key], expected[key]) for key in got)
        case float(), float():
            return math.isclose(got, expected, rel_tol=1e-9)
    return bool(got == expected) and isinstance(got, bool) == isinstance(expected, bool)
