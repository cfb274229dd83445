"""The runs in a trace file, found in one pass; their steps are read on demand.

    index = read_index(Path("trace.jsonl"))
    index.runs          RunSummary(1, "9f3c-1", place="mail.njpy:12", calls=2, ...), ... as a tree
    index.problems      "line 812 is cut off: the program was still writing, or was killed"

Only summaries and line offsets are kept in memory. The lines of several processes and runs may be
interleaved. A `TraceReader` returns the lines of a file that is still being written.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

from njc.project.report import format_count
from njc.project.units import explaining_failure
from njc.runs.timeline.effect_text import NO_CHANGE, summarize_variables
from njc.runs.timeline.step_builder import StepBuilder, build_steps
from njc.runs.timeline.steps import JUMPS, Step
from njc.trace_lines import (
    MAX_LINE_BYTES,
    BeganLine,
    EndedLine,
    EventLine,
    TraceLine,
    UnansweredLine,
    UnreadableLine,
    parse_trace,
    parse_trace_line,
)
from njrt.errors import ConfigurationError
from njrt.records import record

_CLOCK_TOLERANCE = 0.05
"""Seconds that times may go back in a run: threads may not write in the order of clock reads."""


@record
class RunSummary:
    """A block run. `number` counts from 1 in the order of the tree; `parent` is such a number, too.

    `model` is the last model that replied, or else the chosen one. `start` is in seconds since the
    epoch; `usd` is only known with a price. `outcome` is empty if the trace lacks the run's end.
    `digest` is equal for equal runs.
    """

    number: int
    id: str
    place: str
    model: str = ""
    parent: int | None = None
    depth: int = 0
    start: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    effects: int = 0
    input: int = 0
    output: int = 0
    usd: float | None = None
    refusals: int = 0
    failures: int = 0
    outcome: str = ""
    error: str = ""
    given: str = ""
    """The variables at the start, in brief."""
    changed: str = ""
    is_unchanged: bool = False
    """Whether the run ended without changing a variable, printing or jumping."""
    digest: bytes = b""
    has_text: bool = False
    offsets: array[int] = field(default_factory=lambda: array("Q"), repr=False)

    @property
    def is_jump(self) -> bool:
        """Whether the block was left by a jump or an exception."""
        return self.outcome in JUMPS

    @property
    def tokens(self) -> int:
        return self.input + self.output


@record
class TraceIndex:
    """A trace file's runs, in the order of the tree, and its unreadable parts."""

    path: Path
    runs: tuple[RunSummary, ...]
    problems: tuple[str, ...] = ()
    processes: int = 0

    def read_steps(self, run: RunSummary) -> Iterator[Step]:
        with open(self.path, "rb") as file:
            lines = (parse_trace_line(_read_line_at(file, at), 0) for at in run.offsets)
            yield from build_steps(it for it in lines if it and not isinstance(it, UnreadableLine))


def _read_line_at(file: BinaryIO, offset: int) -> bytes:
    file.seek(offset)
    return file.readline()


def read_index(path: Path, search: str = "") -> TraceIndex:
    """Return a trace's runs, searched case-insensitively for a text; raises ConfigurationError."""
    with explaining_failure(f"read the trace {path}"), open(path, "rb") as file:
        return _IndexReader(path, search).read(file)


class _IndexReader:
    """Reads a whole trace (state: the unfinished runs, and the unreadable parts)."""

    def __init__(self, path: Path, search: str) -> None:
        self._path = path
        self._search = search
        self._runs: list[_RunBuilder] = []
        self._by_id: dict[str, _RunBuilder] = {}
        self._unreadable: dict[str, list[int]] = {}

    def read(self, file: BinaryIO) -> TraceIndex:
        first_line = b""
        for number, offset, raw in split_lines(file):
            first_line = first_line or raw.strip()[:2000]
            line = parse_trace_line(raw, number)
            if line is None:
                if raw.strip():
                    self._unreadable.setdefault("newer", []).append(number)
            elif isinstance(line, UnreadableLine):
                is_cut = len(raw) <= MAX_LINE_BYTES and not raw.endswith(b"\n")
                problem = "cut" if is_cut else "unreadable"
                self._unreadable.setdefault(problem, []).append(number)
            else:
                self._add(line, offset)
        if not self._runs:
            raise ConfigurationError(explain_other_file(self._path, first_line))
        runs = order_runs([(run.build(), run.parent) for run in self._runs])
        processes = len({run.id.rpartition("-")[0] for run in runs})
        return TraceIndex(self._path, runs, tuple(self._list_problems()), processes)

    def _add(self, line: EventLine, offset: int) -> None:
        run = self._by_id.get(line.run)
        if run is None or (isinstance(line, BeganLine) and run.lines):
            run = self._by_id[line.run] = _RunBuilder(line.run, self._search)
            self._runs.append(run)
        run.add(line, offset)

    def _list_problems(self) -> Iterator[str]:
        for problem, numbers in self._unreadable.items():
            number, count = numbers[0], len(numbers)
            match problem:
                case "cut":
                    yield f"line {number:,} is cut off: the program is still writing, or was ended"
                case "newer":
                    yield (
                        f"{format_count(count, 'line')} of a kind that this version of njc does not"
                        f" know, the first is line {number:,}"
                    )
                case _:
                    yield (
                        f"{format_count(count, 'line')} cannot be read and"
                        f" {'is' if count == 1 else 'are'} left out, the first is line {number:,}"
                    )
        if no_begin := sum(not run.has_begun for run in self._runs):
            yield f"{format_count(no_begin, 'run')} started before this trace"
        if back := sum(run.went_back for run in self._runs):
            yield (
                f"the clock went back during {format_count(back, 'run')}; their times are not exact"
            )


@dataclass(slots=True)
class _RunBuilder:
    id: str
    search: str
    parent: str | None = None
    """The identifier of the calling run."""
    lines: int = 0
    last_at: float = 0.0
    has_begun: bool = False
    went_back: bool = False
    has_text: bool = False
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    counts: Counter[str] = field(default_factory=Counter)
    fields: dict[str, Any] = field(default_factory=lambda: {"place": "(unknown)"})
    """The summary's fields other than counts."""
    state: Mapping[str, str | None] = field(default_factory=dict)
    changes: dict[str, str | None] = field(default_factory=dict)
    has_states: bool = False
    """Whether the run ended, in a trace that records variable changes."""
    printed: bool = False
    hash: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=8))
    steps: StepBuilder = field(default_factory=lambda: StepBuilder(has_one_run=True))

    def add(self, line: EventLine, offset: int) -> None:
        at = line.at.timestamp()
        if not self.lines:
            self.fields["start"] = self.last_at = at
        self.went_back |= at < self.last_at - _CLOCK_TOLERANCE
        self.last_at = max(self.last_at, at)
        self.lines += 1
        self.offsets.append(offset)
        match line:
            case BeganLine():
                self.has_begun, self.parent = True, line.parent
            case UnansweredLine():
                self.counts["failures"] += 1
            case EndedLine():
                self.fields["seconds"] = max(0.0, line.seconds)
                self.has_states = line.changes is not None
        for step in self.steps.add(line):
            self._add_step(step)

    def _add_step(self, step: Step) -> None:
        if not step.is_done:
            return
        self.hash.update(step.comparable_digest)
        self.has_text = self.has_text or (self.search != "" and has_text(step, self.search))
        if step.kind == "enter":
            self.state = step.changes
            self.fields |= {"place": step.place, "model": step.model}
            self.fields["given"] = summarize_variables(step.changes)
            return
        if step.kind == "exit":
            self.fields |= {"outcome": step.result, "error": step.error}
        if step.kind == "effect":
            self.counts.update(effects=1, refusals=int(step.is_refused))
        if step.call is not None:
            self.counts.update(calls=1, input=step.cost.input, output=step.cost.output)
            if step.call.model:  # the model that answered, if several were asked in turn
                self.fields["model"] = step.call.model
            if step.cost.usd is not None:
                self.fields["usd"] = self.fields.get("usd", 0.0) + step.cost.usd
        self.changes |= step.changes
        self.printed = self.printed or bool(step.printed)

    def build(self) -> RunSummary:
        """Return the summary; its number, depth and parent are set later."""
        for step in self.steps.finish():
            self._add_step(step)
        changed = summarize_variables(self.changes, self.state) or "printed" * self.printed
        is_unchanged = self.has_states and not changed and self.fields.get("outcome") not in JUMPS
        fields = {"seconds": self.last_at - self.fields["start"], **self.fields, **self.counts}
        return RunSummary(
            0,
            self.id,
            changed=NO_CHANGE if is_unchanged else changed,
            is_unchanged=is_unchanged,
            digest=self.hash.digest(),
            has_text=self.has_text,
            offsets=self.offsets,
            **fields,
        )


def order_runs(runs: Sequence[tuple[RunSummary, str | None]]) -> tuple[RunSummary, ...]:
    """Return the runs in tree order: each run precedes the runs that it called. Cycles are cut."""
    by_id = {run.id: position for position, (run, _) in enumerate(runs)}
    children: dict[int | None, list[int]] = {}
    for position, (_, parent_id) in enumerate(runs):
        parent = by_id.get(parent_id) if parent_id else None
        children.setdefault(None if parent == position else parent, []).append(position)
    ordered: list[RunSummary] = []
    numbers: dict[int, int] = {}
    roots = [*children.get(None, ()), *range(len(runs))]  # the latter for cycles
    for root in roots:
        waiting = [(root, 0, None)] if root not in numbers else []
        while waiting:
            position, depth, parent_number = waiting.pop()
            if position in numbers:
                continue
            numbers[position] = number = len(ordered) + 1
            run = runs[position][0]
            ordered.append(replace(run, number=number, depth=depth, parent=parent_number))
            below = [(child, depth + 1, number) for child in reversed(children.get(position, ()))]
            waiting.extend(below)  # type: ignore[arg-type]
    return tuple(ordered)


def split_lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield each line's number (from 1), offset and bytes; an overlong line is cut."""
    number, offset = 0, 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        yield number, offset, line
        offset += len(line)
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
            offset += len(line)


class TraceReader:
    """Reads a trace file that is still being written (state: the position, the unfinished line)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._number = 0

    def read_new(self) -> list[TraceLine]:
        """Return the lines added since the last call; an unfinished one is kept for the next."""
        with open(self.path, "rb") as file:
            file.seek(self._position)
            lines = list(takewhile(lambda line: line.endswith(b"\n"), file))
        found = list(parse_trace(lines, self._number + 1))
        self._position += sum(map(len, lines))
        self._number += len(lines)
        return found


def has_text(step: Step, wanted: str) -> bool:
    """Return whether a step's place, models or texts (code, ...) contain a text, ignoring case."""
    texts = [step.code, step.ending, step.shown_text, step.reply_text, step.printed, step.place]
    texts += [f"{name}: {after or ''}" for name, after in step.changes.items()]
    texts += [step.model, step.call.model if step.call else ""]
    return any(wanted.casefold() in text.casefold() for text in texts)


def explain_other_file(path: Path, first_line: bytes) -> str:
    """Describe a file that contains no trace lines."""
    hint = "`njc run --trace trace.jsonl FILE` writes one"
    if not first_line:
        return f"{path} is empty: no natural block has run yet; {hint}"
    if first_line.startswith(b"{") and b'"format"' in first_line and b'"protocol"' in first_line:
        return (
            f"{path} is a recording, not a trace; {hint}, with NJC_RECORD=none:{path.name} from it"
        )
    return f"{path} is not a trace: no line of it is an event of a natural block; {hint}"


@record
class Selection:
    """Conditions on runs; unset ones are true."""

    refusals: bool = False
    unchanged: bool = False
    jumps: bool = False
    block: str = ""
    search: str = ""

    def has_run(self, run: RunSummary) -> bool:
        """Return whether a run is shown. `block` is a place, or the name of its file."""
        return (
            self._has(run, run.refusals > 0)
            and (not self.search or run.has_text)
            and (self.block in ("", run.place, run.place.rpartition(":")[0]))
        )

    def has_step(self, step: Step) -> bool:
        return self._has(step, step.is_refused) and (not self.search or has_text(step, self.search))

    def _has(self, it: RunSummary | Step, is_refused: bool) -> bool:
        return (
            (not self.refusals or is_refused)
            and (not self.unchanged or it.is_unchanged)
            and (not self.jumps or it.is_jump)
        )
