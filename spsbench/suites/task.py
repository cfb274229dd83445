"""A task of a suite, independent of its form.

    bench = task.open()                        its tools and objects, freshly made
    bench.log.start_turn()
    bench.tools[0].function(folder="document") a call, recorded in `bench.log`
    task.judge(Played(bench.log.turns, None))  True

A suite is data: tasks, tools and a checker. A form (`spsbench.suites.forms`) plays any of them.
"""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec, TypeVar

from pydantic import TypeAdapter

from njrt.dataclass_json import validate_value
from njrt.messages import Json
from spsbench.results import Ordinal, SampledRun, Timestamp, TrialLine, format_usage

P = ParamSpec("P")
T = TypeVar("T")


class CallLog:
    """The tool calls, as Python text, turn by turn (state: the calls so far)."""

    def __init__(self) -> None:
        self.turns: list[list[str]] = []
        self._is_inside = False

    def start_turn(self) -> None:
        """Record the following calls under a new turn."""
        self.turns.append([])

    def watch(self, function: Callable[P, T], *, is_method: bool = False) -> Callable[P, T]:
        """Return the function with its calls recorded, except those made within a recorded call."""

        @functools.wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            if self._is_inside or not self.turns:
                return function(*args, **kwargs)
            shown = [*map(repr, args[is_method:]), *(f"{key}={kwargs[key]!r}" for key in kwargs)]
            self.turns[-1].append(f"{function.__name__}({', '.join(shown)})")
            self._is_inside = True
            try:
                return function(*args, **kwargs)
            finally:
                self._is_inside = False

        return watched


@dataclass(frozen=True, slots=True)
class SuiteTool:
    """A tool as all forms need it."""

    name: str
    signature: str
    """As Python: `cd(folder: str) -> dict`."""
    description: str
    parameters: Json
    """The JSON schema of its arguments; a lone `args` is an array of positional arguments."""
    function: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools and objects of one run of a task."""

    tools: tuple[SuiteTool, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Objects, functions and values, by the names under which the natural block reads them."""
    log: CallLog = field(default_factory=CallLog)


@dataclass(frozen=True, slots=True)
class Played:
    """The result of a run: the tool calls by turn, and the value."""

    calls: list[list[str]]
    value: Any = None


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """A task: its requests, its tools, its right answers."""

    name: str
    stratum: str
    """The kind of task, used to stratify samples."""
    turns: tuple[str, ...]
    """The user's requests, one after the other."""
    block: str
    """The text of the natural block; `<request>` is the turn."""
    open: Callable[[], Bench]
    judge: Callable[[Played], bool]
    result: Any = None
    """The type of the value; None if the task has no value, so only the calls count."""
    answer: Any = None
    """A right value."""
    truth: tuple[tuple[str, ...], ...] = ()
    """The right calls by turn, as Python text with named arguments."""
    later_block: str = ""
    """Extra text for the block in later turns; `<earlier>` has the previous turns, with their results."""
    natural_truth: tuple[str, ...] = ()
    """The right code of a natural block by turn."""


def read_value(text: str, kind: Any) -> Any:
    """Return the value that a model wrote as text: JSON or a Python literal of a type, or the text itself.

    Raises ValueError if it does not fit the type.
    """
    text = text.strip()
    candidates: list[Any] = [text]
    if kind is not str:
        for read in (ast.literal_eval, json.loads):
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                candidates.insert(0, read(text))
    return fit_value(candidates[0], kind)


def fit_value(value: Any, kind: Any) -> Any:
    """Return a value converted to its type, or raise a ValueError with the reason. Any value can become text."""
    if kind is str:
        return str(value)
    return validate_value(value, kind)


def dump_value(value: Any, kind: Any) -> Any:
    """Return a value of a type as plain JSON data."""
    return TypeAdapter(kind).dump_python(value, mode="json")


# ── the lines of a `spsbench suite` results file ───────────────────────────────────────────────────


SuiteName = Literal["bfcl", "m3", "mtp"]
SUITES: tuple[SuiteName, ...] = ("bfcl", "m3", "mtp")
FormName = Literal["json", "codeact", "natural", "answer", "bfcl"]
SuiteEnding = Literal["finished", "limit", "raised", "too long"]
"""How a task ended. `limit`: its calls or time ran out; `too long`: a prompt did not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class SuiteLimits:
    """The limits of a task, the same in all forms."""

    calls: int = 8
    """Model calls in one turn of the user."""
    seconds: float = 300.0
    """Wall time of the task."""
    reply_tokens: int = 300
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class SuiteTrial(TrialLine):
    """A task in a form."""

    suite: SuiteName
    task: str
    form: FormName
    model: str
    repeat: Ordinal

    def __str__(self) -> str:
        return f"{self.task} {self.form} #{self.repeat}"


@dataclass(frozen=True, slots=True)
class SuiteResult(SuiteTrial):
    """The result of a task in a form."""

    kind: Literal["suite"] = field(default="suite", kw_only=True)
    passed: bool
    ending: SuiteEnding
    error: str | None
    calls: int
    """Model calls."""
    tool_calls: int
    """Calls to the suite's tools."""
    input_tokens: int
    output_tokens: int
    seconds: float
    """Wall time."""
    model_seconds: float
    """The part of it spent waiting for the model."""
    started: Timestamp

    def describe(self) -> tuple[str, str]:
        verdict = "right" if self.passed else self.error or "wrong"
        return verdict[:100], format_usage(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun(SampledRun):
    """One start of the command on a file."""

    kind: Literal["suite run"] = "suite run"
    suite: SuiteName
    forms: tuple[FormName, ...]
    tasks: int
    """The number of tasks in the suite."""
    repeats: int
    limits: SuiteLimits
    strata: str = "kind of task"


SUITE_KINDS = (SuiteRun, SuiteResult)
