"""Traces as text: a table of the runs, or the steps of one run.

    run  block         calls  tokens     cost  seconds  refused  outcome    came in      changed
      1  mail.njpy:14      1     215  $0.0002     1.02           completed  mail='Tax?'  topic='tax'

Texts from a trace are escaped, so that they cannot control the terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from njc.debug.timeline.steps import Step
from njc.debug.trace_view.index import RunSummary, Selection, TraceIndex
from njc.project.report import format_count, format_text_table
from njrt.values.rendering.writer import escape_unprintable

RUN_COLUMNS = (
    *("run", "block", "calls", "tokens", "cost", "seconds", "refused", "outcome", "came in"),
    *("changed", "model"),
)
_TEXTS = (1, 7, 8, 9, 10)
"""The columns that are left-aligned."""

_MAX_DEPTH_SHOWN = 8


def format_trace(
    index: TraceIndex, selection: Selection, width: int | None = None
) -> Iterator[str]:
    """Yield the totals of the selected runs, and their table, cut at a width."""
    runs = [run for run in index.runs if selection.has(run)]
    yield summarize_runs(runs, len(index.runs))
    if runs:
        yield ""
        table = format_text_table(RUN_COLUMNS, [_make_run_row(run) for run in runs], _TEXTS)
        yield from (line[:width] for line in table.split("\n"))


def summarize_runs(runs: Sequence[RunSummary], of: int) -> str:
    """Return the totals of runs, in words."""
    numbers = {run.number for run in runs}
    refused = sum(run.refusals for run in runs)
    parts = [
        f"{len(runs):,} of {of:,} runs" if len(runs) < of else format_count(len(runs), "run"),
        format_count(sum(run.calls for run in runs), "call"),
        format_count(sum(run.effects for run in runs), "effect"),
        *list_costs(runs),
        f"{sum(run.seconds for run in runs if run.parent not in numbers):.1f} s",
        *[format_count(refused, "refusal")] * bool(refused),
    ]
    return ", ".join(parts)


def list_costs(runs: Sequence[RunSummary]) -> list[str]:
    """Return the tokens of runs and, if it is known, their price."""
    usd = [run.usd for run in runs if run.usd is not None]
    tokens = format_count(sum(run.tokens for run in runs), "token")
    return [tokens, format_cost(sum(usd))] if usd else [tokens]


def _make_run_row(run: RunSummary) -> list[str]:
    return [
        f"{run.number}",
        _indent_place(run),
        f"{run.calls:,}",
        f"{run.tokens:,}" if run.tokens else "",
        format_cost(run.usd),
        f"{run.seconds:.2f}",
        f"{run.refusals:,}" if run.refusals else "",
        describe_outcome(run),
        escape_unprintable(run.given),
        escape_unprintable(run.changed),
        escape_unprintable(run.model),
    ]


def _indent_place(run: RunSummary) -> str:
    return "  " * min(run.depth, _MAX_DEPTH_SHOWN) + escape_unprintable(run.place)


def format_cost(usd: float | None) -> str:
    """Return a price as text, empty if it is unknown."""
    return "" if usd is None else f"${usd:.4f}"


def describe_outcome(run: RunSummary) -> str:
    """Return how a run ended, on one line."""
    return escape_unprintable(f"{run.outcome} {run.error}".strip()) or "no end in the trace"


def format_run(run: RunSummary, steps: Iterable[Step], selection: Selection) -> Iterator[str]:
    """Yield a run's steps: the model's code, its results, and the changed variables."""
    ending = f"{describe_outcome(run)} in {run.seconds:.2f} s"
    yield f"run {run.number}, {escape_unprintable(run.place)}: {ending}"
    facts = [
        escape_unprintable(run.model),
        format_count(run.calls, "call"),
        format_count(run.tokens, "token"),
        format_cost(run.usd),
    ]
    yield ", ".join(filter(None, facts))
    for number, step in enumerate(steps):
        if selection.has(step):
            yield ""
            yield from format_step(number, step)


def format_step(number: int, step: Step) -> Iterator[str]:
    """Yield a step's lines: a head, its code, changes (`=`), prints (`|`), and the result (`>`)."""
    seconds = step.call_seconds + (step.seconds if step.kind != "exit" else 0.0)
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
    yield ", ".join(filter(None, facts))
    yield from _indent(step.code.rstrip(), "    ")
    for name, before, text in step.list_changes():
        after = "(not bound)" if text is None else text
        yield from _indent(f"{name}: {after if before is None else before}", "  = ")
        if before is not None:
            yield from _indent(after, "    -> ")
    yield from _indent(step.printed.rstrip("\n"), "  | ")
    yield from _indent(step.ending, "  > ")


def _indent(text: str, mark: str) -> Iterator[str]:
    """Yield the lines of a text, each after a mark."""
    for line in text.split("\n") if text else ():
        yield (mark + escape_unprintable(line.expandtabs(4))).rstrip()
