"""The whole report of what results files hold: which rows go into which table, and the files that are written.

report_of(data, programs, plain, uniform)   Report(parts=..., tables=...)
written(report, facts)                      {"index.html": ..., "report.md": ..., "report.txt": ..., "report.csv": ...}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from spsbench.published import PAPER, PUBLISHED
from spsbench.report.answer import answer
from spsbench.report.data import Data, as_result
from spsbench.report.forms import as_csv, as_markdown, as_text
from spsbench.report.measures import Measured, Scope, Setting, Uniform, measured
from spsbench.report.page import Facts, Part, page
from spsbench.report.tables import (
    Cell,
    Row,
    Table,
    count_table,
    everything,
    glance,
    in_order,
    suite_table,
)
from spsbench.results import Result
from spsbench.studies.graph_results import Asked, grouped

Fresh = Callable[[], Uniform]
"""Begins the same random numbers anew, so that no interval depends on what else is in a report."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is reported, before it has a form."""

    parts: tuple[Part, ...]
    tables: tuple[Table, ...]
    asked: tuple[Asked, ...]
    programs: tuple[str, ...]


def report_of(data: Data, programs: Sequence[str], plain: Sequence[str], fresh: Fresh) -> Report:
    """Sum up all that there is. `plain` are the programs that need nothing which only Python has."""
    whole = [row for setting in data.trials for row in rows_of(data, setting, programs, fresh)]
    parts = tuple(
        Part(rows, answer(rows, fresh))
        for setting in data.trials
        if (rows := tuple(row for row in whole if row.setting == setting))
    )
    tables = [*suite_tables(data, whole, plain, fresh), *count_tables(whole)]
    if whole:
        tables.append(everything(whole))
    if data.asked:
        tables.append(graph_table(data.asked))
    return Report(parts, tuple(tables), data.asked, tuple(programs))


def rows_of(
    data: Data, setting: Setting, programs: Sequence[str], fresh: Fresh
) -> Iterator[Measured]:
    """A row for each method that has trials of these programs."""
    results = data.trials[setting]
    asked = (run.repeats for run in data.runs.get(setting, ()))
    repeats = max([*asked, *(result.trial.repeat for result in results)])
    inside = [result for result in results if result.trial.program in programs]
    return summed(setting, inside, Scope(tuple(programs), repeats), fresh)


def summed(
    setting: Setting, results: Sequence[Result], scope: Scope, fresh: Fresh
) -> Iterator[Measured]:
    """A row for each method, in the order of the tables."""
    for method in in_order(result.trial.method for result in results):
        own = [result for result in results if result.trial.method == method]
        yield measured(setting, method, own, scope, fresh())


METHODS_OF: Mapping[int, tuple[str, ...]] = {
    1: ("manual", "nightjar", "direct"),
    2: ("manual", "manual-code-interpreter", "baseline", "nightjar", "direct"),
    7: ("manual", "shared-python", "nightjar", "direct"),
}
"""Whose rows a table has, where not those of all methods: the paper's, and `direct`."""


def suite_tables(
    data: Data, whole: Sequence[Measured], plain: Sequence[str], fresh: Fresh
) -> Iterator[Table]:
    """The tables 1, 2, 4, 5, 6, 7 and 8."""

    def over(programs: Sequence[str]) -> list[Measured]:
        return [row for setting in data.trials for row in rows_of(data, setting, programs, fresh)]

    rows: Mapping[int, Sequence[Measured]] = {
        1: over(["graph"]),
        2: whole,
        4: whole,
        5: over(plain),
        6: [row for row in whole if row.cost is None],
        7: [row for row in whole if row.setting.temperature == 0],
        8: list(gsm8k_rows(data, fresh)),
    }
    for number, found in rows.items():
        methods = METHODS_OF.get(number)
        shown = [row for row in found if methods is None or row.method in methods]
        yield suite_table(PUBLISHED[number], shown, NOTES.get(number, ()))


NOTES: Mapping[int, tuple[str, ...]] = {
    1: ("Ours is the suite's program `graph`: six queries on a graph of six papers.",),
    6: ("Ours are all models without a known price, which is what locally hosted ones are.",),
}


def gsm8k_rows(data: Data, fresh: Fresh) -> Iterator[Measured]:
    """A row for each model and method that solved problems of GSM8K."""
    results = [as_result(each) for each in data.solved]
    for model in dict.fromkeys(result.trial.model for result in results):
        own = [result for result in results if result.trial.model == model]
        problems = tuple(dict.fromkeys(result.trial.program for result in own))
        scope = Scope(problems, max(result.trial.repeat for result in own))
        yield from summed(Setting(model), own, scope, fresh)


CAUSES = {
    "100% Pass": "passed",
    "Reasoning": "wrong result",
    "Give Up": "gave up",
    "Incorrect State Op": "incorrect state operation",
    "Hallucination": "",
}
ERRORS = {
    "State Op Error": "state op error",
    "Forbidden Var": "forbidden variable",
    "Type Error": "type error",
    "Syntax Error": "syntax error",
    "Function Call Error": "function call error",
    "Index Error": "index error",
}
RECOVERIES = {
    name: name.lower()
    for name in ("Correction", "Ignored Error", "Workaround", "Retry", "Not Recovered")
}


def count_tables(whole: Sequence[Measured]) -> Iterator[Table]:
    """The tables 9, 10 and 11, for the paper's method and ours."""
    shown = {f"{row.setting}, {row.method}": row.results for row in whole if row.method in ANALYSED}
    causes = {
        name: Counter(each.failure.category if each.failure else "passed" for each in results)
        for name, results in shown.items()
    }
    errors = {
        name: [error for each in results for error in each.effect_errors]
        for name, results in shown.items()
    }
    yield count_table(
        PUBLISHED[9], CAUSES, causes, ["What ours call `wrong result` stands under Reasoning."]
    )
    yield count_table(
        PUBLISHED[10],
        ERRORS,
        {name: Counter(error.category for error in found) for name, found in errors.items()},
    )
    yield count_table(
        PUBLISHED[11],
        RECOVERIES,
        {name: Counter(error.recovery for error in found) for name, found in errors.items()},
    )


ANALYSED = ("nightjar", "direct")


def graph_table(asked: Sequence[Asked]) -> Table:
    """The growing graph, in numbers."""
    models = dict.fromkeys(each.asking.model for each in asked)
    groups = [
        group
        for model in models
        for group in grouped(each for each in asked if each.asking.model == model)
    ]
    return Table(
        "Figure 10",
        "Six questions on graphs of growing size (the paper's numbers are drawn, not printed)",
        ("model", "papers", "method", "right", "seconds", "tokens in", "tokens out", "asked", "too long"),
        3,
        tuple(Row("measured", graph_cells(group)) for group in groups),
        ("`manual` copies the graph into the prompt. Seconds and tokens are means over what was sent.",),
    )  # fmt: skip


def graph_cells(group: Sequence[Asked]) -> tuple[Cell, ...]:
    """One method at one size."""
    asking = group[0].asking
    sent = [each.measures for each in group if each.ending != "too long"]

    def mean_cell(values: Sequence[float], digits: int) -> Cell:
        return Cell(f"{fmean(values):,.{digits}f}", fmean(values)) if values else Cell("-")

    right = fmean(each.passed for each in group)
    return (
        Cell(asking.model),
        Cell(f"{asking.size:,} papers"),
        Cell(asking.method),
        Cell(f"{right:.2f}", right),
        mean_cell([each.seconds for each in sent], 1),
        mean_cell([each.input_tokens for each in sent], 0),
        mean_cell([each.output_tokens for each in sent], 0),
        Cell(f"{len(group)}", float(len(group))),
        Cell(f"{len(group) - len(sent)}", float(len(group) - len(sent))),
    )


def written(report: Report, facts: Facts) -> dict[str, str]:
    """The files of a report, by name."""
    return {
        "index.html": page(report.parts, report.tables, report.asked, report.programs, facts),
        "report.md": markdown(report, facts),
        "report.txt": plain_text(report, facts),
        "report.csv": as_csv(report.tables),
    }


def plain_text(report: Report, facts: Facts) -> str:
    """The report for a terminal."""
    answers = [
        part
        for each in report.parts
        for part in (
            as_text(glance(str(each.rows[0].setting), each.rows)),
            "\n".join([each.answer.advice, "", *(f"  {name} {said}" for name, said in each.answer.sentences)]),
        )
    ]  # fmt: skip
    foot = "\n".join(f"{name}: {said}" for name, said in facts)
    return "\n\n\n".join([*answers, *map(as_text, report.tables), foot]) + "\n"


def markdown(report: Report, facts: Facts) -> str:
    """The report as a Markdown document."""
    answers = [
        part
        for each in report.parts
        for part in (
            f"## On {each.rows[0].setting}",
            f"**{each.answer.advice}**",
            as_markdown(glance(str(each.rows[0].setting), each.rows)),
            "\n".join(f"* **{name}** {said}" for name, said in each.answer.sentences),
        )
    ]
    return "\n\n".join(
        [
            "# SPSBench: which method, at what cost",
            *answers,
            "## Beside the paper",
            f"Rows in bold were measured here; the others are quoted from *{PAPER}*.",
            *map(as_markdown, report.tables),
            "## How this was measured",
            "\n".join(f"* {name}: {said}" for name, said in facts),
            "",
        ]
    )
