"""The results of `spsbench crux` as tables, and as a report.

    build_tables(results)    Table("Problems", ...), Table("Actions", ...), Table("Depths", ...), Table("Generations", ...)

The interval of a rate is that of Wilson (1927) at 95 %, with the number of problems as its size: where a problem has
several answers, the rate is the mean over problems, and the interval is wider than it has to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import TypeVar

from njc.comparison.results import compute_pass_interval
from spsbench.crux.actions import ACTIONS
from spsbench.crux.results import (
    AnswerResult,
    CruxResultSet,
    CruxRun,
    CruxUsage,
    GenerationsResult,
    StateResult,
)
from spsbench.report.forms import format_table_as_text
from spsbench.report.tables import Cell, Table, TableRow

INTERVAL_NOTE = "Interval: Wilson, 95 %, over problems."
Rated = TypeVar("Rated", AnswerResult, StateResult)
TASK_ORDER, FORM_ORDER = ("output", "input"), ("direct", "action", "path", "trace")


def build_tables(results: CruxResultSet) -> list[Table]:
    """The tables that have rows."""
    tables = [
        build_answer_table(results.answers),
        build_state_table(
            "Actions", "Predicted states, by action", results.states, lambda result: result.action
        ),
        build_state_table(
            "Directions and depths",
            "Predicted states, by direction and depth of calls",
            results.states,
            name_direction_and_depth,
        ),
        build_generations_table(results.generations),
    ]
    return [table for table in tables if table.rows]


def build_answer_table(answers: Sequence[AnswerResult]) -> Table:
    """pass@1 of each task and form."""
    keys = sorted(
        {(result.model, result.task, result.form) for result in answers},
        key=lambda key: (key[0], TASK_ORDER.index(key[1]), FORM_ORDER.index(key[2])),
    )
    rows = []
    for key in keys:
        group = [result for result in answers if (result.model, result.task, result.form) == key]
        rates = compute_rates(group, lambda result: float(result.passed))
        unanswered = sum(result.answer is None for result in group)
        cells = (
            *key,
            f"{len(rates)}",
            format_rate(fmean(rates)),
            format_interval(rates),
            f"{unanswered}",
            *format_usage([result.usage for result in group]),
        )
        rows.append(TableRow("measured", tuple(map(Cell, cells))))
    columns = ("model", "task", "form", "problems", "pass@1", "95 % interval", "no answer")
    return Table(
        "Problems",
        "Outputs and inputs",
        (*columns, "calls", "tokens in", "tokens out", "seconds"),
        3,
        tuple(rows),
        (INTERVAL_NOTE,),
    )


def build_state_table(
    name: str, title: str, states: Sequence[StateResult], key: Callable[[StateResult], str]
) -> Table:
    """How right the predicted states are, by a key."""
    names = sorted({key(result) for result in states}, key=order_name)
    rows = []
    for model in sorted({result.model for result in states}):
        for found in names:
            group = [result for result in states if (result.model, key(result)) == (model, found)]
            if not group:
                continue
            exact = compute_rates(group, lambda result: float(result.score.exact))
            variables = [part for result in group for part in result.score.locals.values()]
            values = [result.score.value for result in group if result.score.value is not None]
            cells = (
                model,
                found,
                f"{len(group)}",
                format_rate(fmean(exact)),
                format_interval(exact),
                format_rate(fmean(result.score.partial for result in group)),
                format_rate(fmean(result.score.event for result in group)),
                format_rate(fmean(result.score.line for result in group)),
                format_share(variables),
                format_share(values),
                *format_usage([result.usage for result in group])[1:],
            )
            rows.append(TableRow("measured", tuple(map(Cell, cells))))
    columns = ("model", name.lower(), "steps", "exact", "95 % interval", "partial", "event", "line")
    return Table(
        name,
        title,
        (*columns, "variables", "values", "tokens in", "tokens out", "seconds"),
        2,
        tuple(rows),
        (
            INTERVAL_NOTE,
            "Exact: event, line, every variable and the value are right. Partial: the mean share of these parts.",
        ),
    )


def name_direction_and_depth(result: StateResult) -> str:
    """The row of a predicted state in the second table."""
    direction = "inverse" if result.action.startswith("inv_") else "forward"
    return f"{direction}, depth {result.depth}"


def order_name(name: str) -> tuple[int, str]:
    """Actions in their order, then other names by the alphabet."""
    known = [str(action) for action in ACTIONS]
    return (known.index(name) if name in known else len(known), name)


def build_generations_table(generations: Sequence[GenerationsResult]) -> Table:
    """Published generations, scored here and by their authors."""
    rows = [
        TableRow("measured", tuple(map(Cell, cells)))
        for result in generations
        for cells in [
            (
                result.file,
                result.task,
                f"{result.problems}",
                f"{result.answers:,}",
                format_percent(result.pass_at_1),
                format_percent(result.published_pass_at_1),
                format_percent(result.pass_at_5),
                format_percent(result.published_pass_at_5),
                "-" if result.differing is None else f"{result.differing}",
            )
        ]
    ]
    columns = ("file", "task", "problems", "answers", "pass@1, %", "published", "pass@5, %")
    return Table(
        "Generations",
        "Published generations, scored here and by their authors",
        (*columns, "published", "problems scored differently"),
        2,
        tuple(rows),
    )


def compute_rates(group: Iterable[Rated], value: Callable[[Rated], float]) -> list[float]:
    """The mean of each problem and action."""
    found: dict[object, list[float]] = {}
    for result in group:
        found.setdefault((result.problem, getattr(result, "action", "")), []).append(value(result))
    return [fmean(values) for values in found.values()]


def format_rate(rate: float) -> str:
    """A share as text."""
    return f"{rate:.3f}"


def format_interval(rates: Sequence[float]) -> str:
    """The interval of a mean of rates."""
    low, high = compute_pass_interval(sum(rates), len(rates))
    return f"{low:.3f}-{high:.3f}"


def format_share(parts: Sequence[bool]) -> str:
    """How many parts are right, of how many."""
    return f"{sum(parts)}/{len(parts)}" if parts else "-"


def format_usage(usages: Sequence[CruxUsage]) -> tuple[str, ...]:
    """The means of calls, tokens in, tokens out and seconds."""
    return (
        f"{fmean(usage.calls for usage in usages):.1f}",
        f"{fmean(usage.input_tokens for usage in usages):,.0f}",
        f"{fmean(usage.output_tokens for usage in usages):,.0f}",
        f"{fmean(usage.seconds for usage in usages):.1f}",
    )


def format_percent(score: float | None) -> str:
    """A score in per cent; `-` where there is none."""
    return "-" if score is None else f"{score:.4f}"


def render_crux_text(results: CruxResultSet) -> str:
    """The tables for a terminal."""
    return "\n\n\n".join(map(format_table_as_text, build_tables(results))) + "\n"


def render_crux_report(results: CruxResultSet, source: str, digest: str) -> str:
    """The report on a results file, in Markdown; needs jinja2 (the extra `bench`)."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("spsbench.crux"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.md").render(
        facts=list(list_crux_facts(results)),
        tables=build_tables(results),
        source=source,
        digest=digest,
    )


def list_crux_facts(results: CruxResultSet) -> Iterator[tuple[str, str]]:
    """Where, when and how the questions were asked, as recorded in the results."""
    for model in dict.fromkeys(run.model for run in results.runs):
        runs = [run for run in results.runs if run.model == model]
        last = runs[-1]
        counted = len({result.problem for result in results.answers if result.model == model})
        drawn = f"{counted} of {last.problems} problems" if counted else "no problems"
        steps = sum(result.model == model for result in results.states)
        dates = sorted({run.started[:10] for run in runs})
        versions = ", ".join(f"{name} {number}" for name, number in sorted(last.versions.items()))
        yield "Model", f"{model}, temperature {last.temperature:g}"
        yield (
            "Sample",
            f"{drawn}, drawn at random (seed {last.seed}), and {steps} steps; "
            f"data set: sha256 {last.data}",
        )
        yield "Measured", dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        yield "Machine", "; ".join(dict.fromkeys(map(describe_crux_machine, runs)))
        yield "Versions", f"Python {last.python}, {versions}"
        for note in dict.fromkeys(run.note for run in runs if run.note):
            yield "Note", note
    if results.remarks:
        yield "Remarks", "; ".join(results.remarks)


def describe_crux_machine(run: CruxRun) -> str:
    """The hardware of a run."""
    hardware = run.hardware
    return (
        f"{hardware.cpu}, {hardware.cores} cores, {hardware.memory_gib:.0f} GiB, {run.system}; "
        f"questions at a time: {run.jobs} ({run.executor})"
    )
