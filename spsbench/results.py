"""Lines of results files: JSON Lines, one for each start of a command and one for each result.

    {"kind": "run", "started": "2026-03-01T09:30:00Z", "model": "openai/gpt-4.1", ...}
    {"kind": "trial", "program": "menu", "method": "direct", "model": "openai/gpt-4.1", ...}

    read_results(lines)  ->  Results(entries=(BenchmarkRun(...), TrialResult(...), ...), remarks=())

A file only grows; of several lines about one trial, the last counts. If the process was killed, the
last line may lack its newline: it is left out, with a remark. Any other line that does not have an
expected type is an error.
"""

from __future__ import annotations

import functools
import io
import json
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import MinLen

from njrt.values.dataclass_json import InvalidJsonError, from_json
from spsbench.failures import FailureCategory

Timestamp = str
"""ISO 8601, in UTC."""
Ordinal = int
"""Counted from 1."""
TrialEnding = Literal["finished", "raised", "timeout", "crashed", "not built", "cost limit"]
"""How the process of a trial ended.

    finished     every case was played, and none raised an exception
    raised       every case was played, and at least one raised an exception
    timeout      the process was killed because it took too long
    crashed      the process died, or something else killed it
    not built    a static mode has no code for a block, so no case was played
    cost limit   of njc 0.2: a limit on cost cut it off; not a result, so the trial is run again
"""


class InputError(ValueError):
    """A file or an option cannot be used; the message names the place and a solution."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class TrialLine:
    """A trial to run, named by its text; results subclass it, adding `kind` and more fields."""

    @property
    def trial(self) -> Any:
        """The trial, without the result."""
        kinds = (kind for kind in type(self).__mro__ if issubclass(kind, TrialLine))
        trial: Any = next(kind for kind in kinds if not hasattr(kind, "kind"))
        return trial(*(getattr(self, each.name) for each in fields(trial)))

    @property
    def is_final(self) -> bool:
        """Whether a result counts; trials without a final result are run again."""
        return True

    @property
    def is_server_failure(self) -> bool:
        """Whether a trial failed because of the model's server."""
        return False

    def describe(self) -> tuple[str, str]:
        """Return a result's verdict and usage, for a progress line."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine that ran the trials."""

    cpu: str
    cores: int
    memory_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One start of a command on a results file, and the machine."""

    started: Timestamp
    model: str
    jobs: int = 1
    """How many trials run at a time."""
    executor: str = "threads"
    hardware: Hardware
    system: str
    python: str
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of njc and the SDKs."""
    note: str = ""
    """A remark about the model's server or the machine, from `--note`."""


@dataclass(frozen=True, slots=True)
class Trial(TrialLine):
    """A program, a method, a model and a repeat."""

    program: str
    method: str
    model: str
    """The name as given in the options: `openai/gpt-4.1`."""
    repeat: Ordinal
    """Part of every cache key, so that repeats are independent."""

    def __str__(self) -> str:
        return f"{self.program} {self.method} {self.repeat}"


@dataclass(frozen=True, slots=True)
class TrialUsage:
    """Token counts; `cached` counts the input tokens that were in the vendor's prompt cache."""

    input: int = 0
    cached: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """Input and output tokens."""
        return self.input + self.output

    def __add__(self, other: TrialUsage) -> TrialUsage:
        return TrialUsage(
            self.input + other.input, self.cached + other.cached, self.output + other.output
        )


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason for a failed check: a category (`spsbench.failures`) and a message."""

    category: FailureCategory
    message: str
    """A single line."""


@dataclass(frozen=True, slots=True)
class TrialResult(Trial):
    """The result of a trial. Checks are named `case: text`; checks not reached are false."""

    kind: Literal["trial"] = field(default="trial", kw_only=True)
    ending: TrialEnding
    checks: Annotated[Mapping[str, bool], MinLen(1)]
    build_seconds: float
    """Compile time, including the model's calls in static modes; 0.0 for manual programs."""
    run_seconds: float
    blocks: int
    """The number of natural blocks entered."""
    effects: int
    """The number of requested effects or, for manual programs, of pieces of interpreted code."""
    calls: int
    """Model calls while the program ran."""
    build_calls: int
    """Model calls while the program was built."""
    usage: TrialUsage
    """The usage of the calls while the program ran, without calls answered by a cache."""
    build_usage: TrialUsage
    cost: float | None
    """US dollars, including the build; None if a call has no known price."""
    failure: Failure | None
    """None if all checks hold."""
    started: Timestamp
    digest: str = ""
    """The digest of the program and its checks; empty in results older than digests."""
    reused_calls: int = 0
    """How many of `calls` and `build_calls` a cache answered, without tokens and cost."""

    @property
    def share(self) -> float:
        """The share of checks that hold, from 0 to 1."""
        return sum(self.checks.values()) / len(self.checks)

    @property
    def is_server_failure(self) -> bool:
        """Whether the trial failed because of the model's server."""
        return self.failure is not None and self.failure.category == "server"

    @property
    def is_final(self) -> bool:
        """Whether the trial ended without being cut off by the cost limit or a failing server."""
        return self.ending != "cost limit" and not self.is_server_failure

    @property
    def seconds(self) -> float:
        """How long the trial took, including the build."""
        return self.build_seconds + self.run_seconds

    def describe(self) -> tuple[str, str]:
        cost = f", ${self.cost:.4f}" if self.cost else ""
        verdict = (
            f"{sum(self.checks.values())}/{len(self.checks)} checks, {self.seconds:.1f} s{cost}"
        )
        return verdict, f"{self.failure.category}: {self.failure.message}" if self.failure else ""


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """The limits of a trial."""

    seconds: float = 1000.0
    """Wall time of the whole trial, including the build, after which its processes are killed."""
    effects: int = 300
    """Effects in one run of a block, or pieces of code in one call of `llm`."""
    calls: int = 300
    """Model calls in one run of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRun(RunLine):
    """One start of `spsbench run` on a results file."""

    kind: Literal["run"] = "run"
    limits: TrialLimits
    temperature: float | None
    """None: the vendor's default, or 0 for plain-text models."""
    repeats: int
    methods: tuple[str, ...]
    programs: tuple[str, ...]
    writers: tuple[str, ...] = ()
    """The models that wrote the code of static methods, if it was taken from a lock."""


Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items by key, with keys and items in their original order."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@dataclass(frozen=True, slots=True)
class Results:
    """All lines of a results file."""

    entries: tuple[RunLine | TrialLine, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[Any, ...]:
        """The starts of a command, of any kind."""
        return self.select(RunLine)

    @property
    def results(self) -> tuple[Any, ...]:
        """The results of any kind, as returned by `select`."""
        return self.select(TrialLine)

    @property
    def spent(self) -> float:
        """The cost in US dollars, including trials that were cut off."""
        return sum((getattr(entry, "cost", None) or 0.0 for entry in self.entries), 0.0)

    def select(self, kind: type[Item]) -> tuple[Item, ...]:
        """Return the lines of one kind, only the last result of each trial, in their order."""
        last: dict[object, Item] = {}
        for number, entry in enumerate(self.entries):
            if isinstance(entry, kind):
                key = entry.trial if isinstance(entry, TrialLine) else number
                last.pop(key, None)
                last[key] = entry
        return tuple(last.values())


BENCHMARK_KINDS: tuple[type, ...] = (BenchmarkRun, TrialResult)


def read_results(lines: Iterable[str], kinds: tuple[type, ...] = BENCHMARK_KINDS) -> Results:
    """Read a results file with lines of these kinds; `InputError` names an unreadable line."""
    line_type = build_line_type(*kinds)
    entries: list[Any] = []
    remarks: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append(from_json(line, line_type))
        except InvalidJsonError as error:
            if "does not match any of the expected tags" in str(error):
                problem, advice = f"damaged, or of another command ({error})", "name another file"
            else:
                problem, advice = f"damaged ({error})", "repair or delete it"
            # A killed process leaves the start of an object; anything else is not one of our lines.
            if line.endswith("\n") or advice == "name another file" or not line.startswith("{"):
                raise InputError(f"line {number} of the results is {problem}; {advice}") from None
            remarks.append(f"line {number}, the last, was cut off and is left out")
    return Results(tuple(entries), tuple(remarks))


def split_lines(text: str) -> list[str]:
    """Split JSON Lines; unlike `str.splitlines`, not at U+2028 and others not escaped in JSON."""
    return list(io.StringIO(text))


def parse_json_lines(
    lines: Iterable[str],
    parse: Callable[[int, Any], Item],
    expected: str,
    load: Callable[[str], Any] = json.loads,
) -> Iterator[Item]:
    """Yield the lines of a data set, each parsed from its number and its JSON value.

    Raises InputError if there are no lines, or with the line number and the text `expected` if one
    cannot be parsed.
    """
    number = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield parse(number, load(line))
        except InputError:
            raise
        except _DATA_PROBLEMS as error:
            name = "" if isinstance(error, InvalidJsonError) else f"{type(error).__name__}: "
            raise InputError(
                f"line {number} is {expected} ({name}{error}); correct it, or name another file"
            ) from error
    if not number:
        raise InputError("the file is empty; name another file")


_DATA_PROBLEMS = (
    *(ValueError, LookupError, TypeError, AttributeError, SyntaxError, RecursionError),
)


def build_line_type(*kinds: Any) -> object:
    """Return the union of these dataclasses, discriminated by `kind`."""
    from pydantic import Discriminator

    return Annotated[functools.reduce(operator.or_, kinds), Discriminator("kind")]
