"""The runs in a trace file; their steps are read on demand.

    index = read_index(Path("trace.jsonl"))
    index.runs          RunSummary(1, "9f3c-1", place="mail.njpy:12", calls=2, ...), ... as a tree
    index.problems      "line 812 is cut off: the program was still writing, or was killed"

Only summaries and line offsets are kept in memory. The lines of several processes and runs may be
interleaved.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from njc.compiler.frontend.prompt_references import Reference, find_tags
from njc.debug.timeline.effect_text import NO_CHANGE, summarize_variables
from njc.debug.timeline.step_builder import build_steps
from njc.debug.timeline.steps import JUMPS, Step
from njc.debug.trace_lines import MAX_LINE_BYTES, BeganLine, UnreadableLine, parse_trace_line
from njc.project.report import format_count
from njc.project.units import explaining_failure
from njrt.data.records import record
from njrt.errors import ConfigurationError


@record
class RunSummary:
    """A block run. `number` counts from 1 in the order of the tree; `parent` is such a number, too.

    `model` is the last model that replied, or else the chosen one. `start` is in seconds since the
    epoch; `usd` is only known with a price. `outcome` is empty if the trace lacks the run's end.
    """

    number: int
    id: str
    parent: int | None = None
    depth: int = 0
    offsets: array[int] = field(default_factory=lambda: array("Q"), repr=False)
    place: str = "(unknown)"
    model: str = ""
    start: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    effects: int = 0
    input: int = 0
    output: int = 0
    usd: float | None = None
    refusals: int = 0
    outcome: str = ""
    error: str = ""
    given: str = ""
    """The variables that the prompt reads, in brief, as they were at the start."""
    changed: str = ""
    is_unchanged: bool = False
    """Whether the run ended without changing a variable, printing or jumping."""
    has_text: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether an effect was refused."""
        return self.refusals > 0

    @property
    def tokens(self) -> int:
        return self.input + self.output


@record
class TraceIndex:
    """A trace file's runs, in the order of the tree, and its unreadable parts."""

    path: Path
    runs: tuple[RunSummary, ...]
    problems: tuple[str, ...] = ()

    def read_steps(self, run: RunSummary) -> Iterator[Step]:
        with open(self.path, "rb") as file:
            yield from _read_steps(file, run.offsets)


@dataclass(slots=True)
class _RunLines:
    """The lines of a run (state: those so far)."""

    id: str
    key: tuple[int, ...]
    """The numbers of the runs around this one, and its own; they sort runs as a tree."""
    has_begun: bool = False
    offsets: array[int] = field(default_factory=lambda: array("Q"))


def read_index(path: Path, search: str = "") -> TraceIndex:
    """Return a trace's runs, searched case-insensitively for a text; raises ConfigurationError."""
    runs: list[_RunLines] = []
    by_id: dict[str, _RunLines] = {}
    unreadable: list[UnreadableLine] = []
    with explaining_failure(f"read the trace {path}"), open(path, "rb") as file:
        for number, offset, raw in split_lines(file):
            line = parse_trace_line(raw, number)
            if isinstance(line, UnreadableLine):
                unreadable.append(line)
            if line is None or isinstance(line, UnreadableLine):
                continue
            run = by_id.get(line.run)
            parent = line.parent if isinstance(line, BeganLine) else None
            if run is None or (isinstance(line, BeganLine) and run.offsets):
                around = by_id.get(parent or "")
                key = (*(around.key if around else ()), len(runs))
                run = _RunLines(line.run, key, isinstance(line, BeganLine))
                by_id[line.run] = run
                runs.append(run)
            run.offsets.append(offset)
        if not runs:
            found = unreadable[0].problem if unreadable else "no natural block has run yet"
            hint = "`njc run --trace trace.jsonl FILE` writes one"
            raise ConfigurationError(f"{path} has no trace of a run: {found}; {hint}")
        ordered = sorted(runs, key=lambda run: run.key)
        numbers = {run.key: number for number, run in enumerate(ordered, 1)}
        summaries = tuple(
            RunSummary(
                numbers[run.key],
                run.id,
                numbers.get(run.key[:-1]),
                len(run.key) - 1,
                run.offsets,
                **summarize_steps(list(_read_steps(file, run.offsets)), search),
            )
            for run in ordered
        )
    more = f" (and {len(unreadable) - 1:,} more)" if len(unreadable) > 1 else ""
    problems = [f"line {it.number:,}{more} is left out: {it.problem}" for it in unreadable[:1]]
    if no_begin := sum(not run.has_begun for run in runs):
        problems.append(f"{format_count(no_begin, 'run')} started before this trace")
    return TraceIndex(path, summaries, tuple(problems))


def _read_steps(file: BinaryIO, offsets: Iterable[int]) -> Iterator[Step]:
    def read(offset: int) -> Any:
        file.seek(offset)
        return parse_trace_line(file.readline(), 0)

    yield from build_steps(map(read, offsets))


def split_lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield each line's number (from 1), offset and bytes; an overlong line is cut."""
    number, offset = 0, 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        yield number, offset, line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)
        offset = file.tell()


def summarize_steps(steps: Sequence[Step], search: str = "") -> dict[str, Any]:
    """Return the fields of a run's summary, from its steps."""
    if not steps:
        return {}
    first, last = steps[0], steps[-1]
    calls = [step.call for step in steps if step.call is not None]
    prices = [call.cost.usd for call in calls if call.cost.usd is not None]
    has_begun, has_ended = first.kind == "enter", last.kind == "exit"
    later = steps[1:] if has_begun else steps
    changes = {name: text for step in later for name, text in step.changes.items()}
    changed = summarize_variables(changes, first.changes if has_begun else ())
    changed = changed or "printed" * any(step.printed for step in steps)
    outcome = last.result if has_ended else ""
    is_unchanged = has_ended and bool(last.digest) and not changed and outcome not in JUMPS
    return {
        "place": first.place,
        # The model that answered, if several were asked in turn.
        "model": next((call.model for call in reversed(calls) if call.model), first.model),
        "start": first.start,
        "seconds": last.seconds if has_ended else max(step.at for step in steps) - first.start,
        "calls": len(calls),
        "effects": sum(step.kind == "effect" for step in steps),
        "input": sum(call.cost.input for call in calls),
        "output": sum(call.cost.output for call in calls),
        "usd": sum(prices) if prices else None,
        "refusals": sum(step.is_refused for step in steps),
        "outcome": outcome,
        "error": last.error,
        "given": summarize_variables(list_inputs(first)) if has_begun else "",
        "changed": NO_CHANGE if is_unchanged else changed,
        "is_unchanged": is_unchanged,
        "has_text": search != "" and any(has_text(step, search) for step in steps),
    }


def list_inputs(entry: Step) -> dict[str, str | None]:
    """Return the variables at a block's entry, without those that its prompt only binds."""
    tags = [tag for tag in find_tags(entry.instruction) if isinstance(tag, Reference)]
    read = {tag.path.partition(".")[0] for tag in tags if not tag.writes}
    bound = {tag.path for tag in tags} - read
    return {name: text for name, text in entry.changes.items() if name not in bound}


def has_text(step: Step, wanted: str) -> bool:
    """Return whether a step's place, models or texts (code, ...) contain a text, ignoring case."""
    texts = [step.code, step.ending, step.shown_text, step.reply_text, step.printed, step.place]
    texts += [f"{name}: {after or ''}" for name, after in step.changes.items()]
    texts += [step.model, step.call.model if step.call else ""]
    return any(wanted.casefold() in text.casefold() for text in texts)


@record
class Selection:
    """Conditions on runs and steps; unset ones are true."""

    refusals: bool = False
    unchanged: bool = False
    search: str = ""

    def has(self, it: RunSummary | Step) -> bool:
        """Return whether a run or a step is shown."""
        is_found = it.has_text if isinstance(it, RunSummary) else has_text(it, self.search)
        is_wanted = (it.is_refused or not self.refusals) and (it.is_unchanged or not self.unchanged)
        return is_wanted and (is_found or not self.search)
