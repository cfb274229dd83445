"""Traces as text: a table of the runs, the steps of one run, or two traces side by side.

    run  block         came in      changed      calls  tokens     cost  seconds  refused  outcome
      1  mail.njpy:14  mail='Tax?'  topic='tax'      1     215  $0.0002     1.02           completed

Two traces are paired by block: the third run of `mail.njpy:12` in one with the third in the other.
Texts from a trace are escaped, so that they cannot control the terminal. Not detected: a different
order of runs of different blocks.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from njc.project.report import format_count
from njc.runs.timeline.steps import Step
from njc.runs.trace_view.index import RunSummary, Selection, TraceIndex
from njc.runs.trace_view.tables import TableColumn, fit_text, format_table
from njrt.records import record
from njrt.rendering.writer import escape_unprintable

RUN_COLUMNS = (
    TableColumn("run", is_number=True),
    TableColumn("block", can_shrink=True),
    TableColumn("came in", can_shrink=True, rank=6),
    TableColumn("changed", can_shrink=True, rank=7),
    TableColumn("model", rank=0),
    TableColumn("calls", is_number=True, rank=2),
    TableColumn("effects", is_number=True, rank=1),
    TableColumn("tokens", is_number=True, rank=4),
    TableColumn("cost", is_number=True, rank=5),
    TableColumn("seconds", is_number=True),
    TableColumn("refused", is_number=True, rank=3),
    TableColumn("outcome", can_shrink=True),
)
PAIR_COLUMNS = (
    TableColumn(""),
    TableColumn("block", can_shrink=True),
    *(
        column
        for letter in ("A", "B")
        for column in (
            TableColumn(f"run {letter}", is_number=True, rank=2),
            TableColumn("tokens", is_number=True, rank=0),
            TableColumn("seconds", is_number=True, rank=1),
            TableColumn(letter, can_shrink=True),
        )
    ),
)

_MAX_DEPTH_SHOWN = 8
_SIDE_BY_SIDE_WIDTH = 70
"""The minimum number of columns for two steps side by side."""


def format_trace(
    index: TraceIndex, selection: Selection, width: int | None = None
) -> Iterator[str]:
    """Yield the totals of the selected runs, and their table."""
    runs = [run for run in index.runs if selection.has_run(run)]
    yield from _wrap(summarize_runs(runs, len(index.runs)), width)
    if runs:
        yield ""
        yield from format_table(RUN_COLUMNS, [_make_run_row(run) for run in runs], width)


def summarize_runs(runs: Sequence[RunSummary], of: int) -> str:
    """Return the totals of runs, in words."""
    count = f"{len(runs):,} of {of:,} runs" if len(runs) < of else format_count(len(runs), "run")
    numbers = {run.number for run in runs}
    parts = [
        count,
        format_count(sum(run.calls for run in runs), "call"),
        format_count(sum(run.effects for run in runs), "effect"),
        *_list_costs(runs),
        f"{sum(run.seconds for run in runs if run.parent not in numbers):.1f} s",
    ]
    refused = sum(run.refusals for run in runs)
    parts += [format_count(refused, "refusal")] * bool(refused)
    return ", ".join(parts)


def summarize_block(runs: Sequence[RunSummary]) -> str:
    """Return the total cost of a block's runs: `3 runs, 4 calls, 1,204 tokens, $0.0031`."""
    calls, errors = sum(run.calls for run in runs), sum(bool(run.error) for run in runs)
    parts = [format_count(len(runs), "run"), format_count(calls, "call"), *_list_costs(runs)]
    return ", ".join(parts + [format_count(errors, "error")] * bool(errors))


def _list_costs(runs: Sequence[RunSummary]) -> list[str]:
    usd = [run.usd for run in runs if run.usd is not None]
    tokens = format_count(sum(run.tokens for run in runs), "token")
    return [tokens, format_cost(sum(usd))] if usd else [tokens]


def _make_run_row(run: RunSummary) -> list[str]:
    depth = min(run.depth, _MAX_DEPTH_SHOWN)
    return [
        f"{run.number}",
        "  " * depth + escape_unprintable(run.place),
        escape_unprintable(run.given),
        escape_unprintable(run.changed),
        escape_unprintable(run.model),
        f"{run.calls:,}",
        f"{run.effects:,}",
        f"{run.tokens:,}" if run.tokens else "",
        format_cost(run.usd),
        f"{run.seconds:.2f}",
        f"{run.refusals:,}" if run.refusals else "",
        describe_outcome(run),
    ]


def format_cost(usd: float | None) -> str:
    """Return a price as text, empty if it is unknown."""
    return "" if usd is None else f"${usd:.4f}"


def describe_outcome(run: RunSummary) -> str:
    """Return how a run ended, on one line."""
    if not run.outcome:
        return "no end in the trace"
    error = f" {escape_unprintable(run.error)}" if run.error else ""
    return escape_unprintable(run.outcome) + error


def format_run(
    run: RunSummary, steps: Iterable[Step], selection: Selection, width: int | None = None
) -> Iterator[str]:
    """Yield a run's steps: the model's code, its results, and the changed variables."""
    facts = [
        escape_unprintable(run.model),
        format_count(run.calls, "call"),
        format_count(run.tokens, "token"),
        format_cost(run.usd),
    ]
    yield from _wrap(
        f"run {run.number}, {escape_unprintable(run.place)}: {describe_outcome(run)} in"
        f" {run.seconds:.2f} s",
        width,
    )
    yield from _wrap(", ".join(filter(None, facts)), width)
    for number, step in enumerate(steps):
        if selection.has_step(step):
            yield ""
            yield from chain.from_iterable(format_step_parts(number, step, width))


def format_step_parts(number: int, step: Step, width: int | None) -> Iterator[list[str]]:
    """Yield a step's lines by part: a head, code, changes (`=`), prints (`|`), the result (`>`)."""
    seconds = step.call_seconds + step.seconds
    source = step.call.source if step.call else ""
    facts = [
        f"{number} {step.kind}",
        escape_unprintable(step.name),
        step.result_kind if step.result_kind in ("refusal", "error") else "",
        f"{seconds:.2f} s" if seconds else "",
        format_count(step.tokens, "token") if step.cost.input else "",
        format_cost(step.cost.usd),
        f"{step.touches:,} touches" if step.touches else "",
        escape_unprintable(source) if source != "model" else "",
    ]
    yield _wrap(", ".join(filter(None, facts)), width)
    yield list(_indent(step.code.rstrip(), "    ", width))
    changes: list[str] = []
    for name, before, text in step.list_changes():
        after = "(not bound)" if text is None else text
        if before is None:
            changes += _indent(f"{name}: {after}", "  = ", width)
        else:
            changes += _indent(f"{name}: {before}", "  = ", width)
            changes += _indent(after, "    -> ", width)
    yield changes
    yield list(_indent(step.printed.rstrip("\n"), "  | ", width))
    yield list(_indent(step.ending, "  > ", width))


def format_pairs(
    first: TraceIndex, second: TraceIndex, selection: Selection, width: int | None = None
) -> Iterator[str]:
    """Yield two traces side by side, and the first difference between them."""
    pairs = pair_runs(first.runs, second.runs)
    shown = [
        pair for pair in pairs if any(run and selection.has_run(run) for run in (pair.a, pair.b))
    ]
    for letter, index in (("A", first), ("B", second)):
        name = escape_unprintable(str(index.path))
        yield from _wrap(
            f"{letter}  {name}: {summarize_runs(index.runs, len(index.runs))}", width, "   "
        )
    yield ""
    rows = []
    for pair in shown:
        place = "  " * min(pair.any.depth, _MAX_DEPTH_SHOWN) + escape_unprintable(pair.any.place)
        row = ["" if pair.is_same else "!", place]
        for run in (pair.a, pair.b):
            if run is None:
                row += ["", "", "", "(none)"]
            else:
                numbers = f"{run.number}", f"{run.tokens:,}", f"{run.seconds:.2f}"
                row += [*numbers, describe_outcome(run)]
        rows.append(row)
    yield from format_table(PAIR_COLUMNS, rows, width)
    yield ""
    count = sum(not pair.is_same for pair in pairs)
    if not count:
        yield from _wrap("no difference: both did the same", width)
        return
    yield from _wrap(f"{count:,} of {len(pairs):,} pairs differ, marked with !", width)
    if (different := next((pair for pair in shown if not pair.is_same), None)) is None:
        yield from _wrap("no difference in the shown runs", width)
        return
    yield from format_pair(first, second, different, width)


def format_pair(
    first: TraceIndex, second: TraceIndex, pair: RunPair, width: int | None = None
) -> Iterator[str]:
    """Yield the first steps that differ between two runs, side by side if the width allows."""
    place = escape_unprintable(pair.any.place)
    if pair.a is None or pair.b is None:
        missing, other = ("A", pair.b) if pair.a is None else ("B", pair.a)
        assert other is not None
        yield from _wrap(
            f"first difference: run {other.number} at {place} is not in {missing}", width
        )
        return
    found = find_first_difference(first.read_steps(pair.a), second.read_steps(pair.b))
    if found is None:
        yield from _wrap(f"no difference in run {pair.a.number} and run {pair.b.number}", width)
        return
    number, step, other_step = found
    yield from _wrap(
        f"first difference: {place}, step {number} of run {pair.a.number} in A and run"
        f" {pair.b.number} in B",
        width,
    )
    yield ""
    yield from _format_side_by_side(number, step, other_step, width)


def _format_side_by_side(
    number: int, a: Step | None, b: Step | None, width: int | None
) -> Iterator[str]:
    if width is not None and width < _SIDE_BY_SIDE_WIDTH:
        for letter, step, other_step in (("A", a, b), ("B", b, a)):
            yield f"{letter}:"
            for part in _list_parts(number, step, other_step, width):
                yield from part
        return
    half = ((width or 120) - 3) // 2
    parts = zip_longest(_list_parts(number, a, b, half), _list_parts(number, b, a, half))
    for left, right in parts:
        for text, other in zip_longest(left or [], right or [], fillvalue=""):
            yield f"{fit_text(text, half, False)} {' ' if text == other else '!'} {other}".rstrip()


def _list_parts(number: int, step: Step | None, other: Step | None, width: int) -> list[list[str]]:
    """Return a step's parts, including messages to the model if they differ from the other's."""
    if step is None:
        return [["(no such step)"]]
    parts = list(format_step_parts(number, step, width))
    if other is None or step.shown_text != other.shown_text:
        parts.append(list(_indent(step.shown_text, "  < ", width)))
    return parts


def _wrap(text: str, width: int | None, indent: str = "") -> list[str]:
    if width is None:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _indent(text: str, mark: str, width: int | None) -> Iterator[str]:
    """Yield the lines of a text, each after a mark; long lines are broken."""
    for line in text.split("\n") if text else ():
        line = escape_unprintable(line.replace("\t", "    "))
        room = max(8, width - len(mark)) if width is not None else len(line) or 1
        for start in range(0, len(line) or 1, room):
            yield (mark + line[start : start + room]).rstrip()


@record
class RunPair:
    """A pair of runs, one from each trace; a run is None if its trace has no such run."""

    a: RunSummary | None
    b: RunSummary | None

    @property
    def is_same(self) -> bool:
        return self.a is not None and self.b is not None and self.a.digest == self.b.digest

    @property
    def any(self) -> RunSummary:
        """The first trace's run, or else the second trace's."""
        run = self.a or self.b
        assert run is not None
        return run


def pair_runs(first: Iterable[RunSummary], second: Iterable[RunSummary]) -> tuple[RunPair, ...]:
    """Return pairs of runs in the first trace's order; runs of only the second trace come last."""
    others: defaultdict[str, deque[RunSummary]] = defaultdict(deque)
    for run in second:
        others[run.place].append(run)
    pairs = [
        RunPair(run, others[run.place].popleft() if others[run.place] else None) for run in first
    ]
    alone = sorted(chain.from_iterable(others.values()), key=lambda run: run.number)
    return (*pairs, *(RunPair(None, run) for run in alone))


def find_first_difference(
    a: Iterable[Step], b: Iterable[Step]
) -> tuple[int, Step | None, Step | None] | None:
    """Return the first steps that differ and their number from 0; None if the runs are equal."""
    for number, (step, other) in enumerate(zip_longest(a, b)):
        if not step or not other or step.comparable_digest != other.comparable_digest:
            return number, step, other
    return None
