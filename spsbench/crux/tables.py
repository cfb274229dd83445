"""The results of `spsbench crux` as tables, and as a report.

    build_tables(results)    Table("Problems", ...), Table("Forms", ...), Table("Actions", ...), ...

The interval of a rate is Wilson's (1927) at 95 %, with the number of problems or steps as the
sample size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from njc.evaluation.pass_rates import compute_pass_interval
from spsbench.crux.results import (
    FORMS,
    TASKS,
    AnswerResult,
    CruxRun,
    StateResult,
)
from spsbench.report.by_problem import (
    estimate_rate,
    format_rate,
    group_passes,
    list_difference_rows,
)
from spsbench.report.files import make_uniform
from spsbench.report.measures import BOOTSTRAP_ROUNDS, SEED
from spsbench.report.results_report import (
    describe_machines,
    describe_versions,
    format_sample,
    render_template,
)
from spsbench.report.table import Table, format_table_as_text, make_text_table
from spsbench.results import Results, group_by, list_mean_cells
from spsbench.states.actions import ACTIONS, is_inverse

INTERVAL_NOTE = "Interval: Wilson, 95 %, over problems."
DIFFERENCE_NOTE = (
    f"Interval: paired by problem, bootstrap of {BOOTSTRAP_ROUNDS:,} rounds, seed {SEED}; none where all problems have "
    "the same difference. Better, worse: problems."
)
STATES_NOTE = "Exact: event, line, every variable and the value are right. Partial: the mean share of these parts."


def build_tables(results: Results) -> list[Table]:
    """Return the tables that have rows."""
    answers, states = results.select(AnswerResult), results.select(StateResult)
    tables = [
        build_answer_table(answers),
        build_difference_table(answers),
        build_state_table(
            "Actions", "Predicted states, by action", states, lambda result: result.action
        ),
        build_state_table(
            "Directions and depths",
            "Predicted states, by direction and depth of calls",
            states,
            name_direction_and_depth,
        ),
    ]
    return [table for table in tables if table.rows]


def build_answer_table(answers: Sequence[AnswerResult]) -> Table:
    """Return the share of right answers for each task and form."""
    rows = []
    for key, group in group_answers(answers).items():
        rate = estimate_rate(group_passes(group, lambda result: result.problem))
        usage = [result.usage for result in group]
        rows.append(
            (
                *key,
                f"{rate.problems}",
                *format_rate(rate, "-"),
                f"{sum(result.answer is None for result in group)}",
                *list_mean_cells(usage, "input_tokens", "output_tokens", "seconds"),
            )
        )
    columns = (
        *("model", "task", "form", "problems", "pass@1", "95 % interval", "no answer"),
        *("tokens in", "tokens out", "seconds"),
    )
    title = "Outputs and inputs"
    return make_text_table(columns, rows, 3, title, "Problems", (INTERVAL_NOTE,))


def build_difference_table(answers: Sequence[AnswerResult]) -> Table:
    """Return the differences in pass@1 between forms, for each task."""
    rows = list_difference_rows(group_answers(answers), lambda result: result.problem, make_uniform)
    columns = (
        *("model", "task", "form", "minus", "problems"),
        *("difference", "95 % interval", "better", "worse"),
    )
    title = "Differences between forms"
    return make_text_table(columns, rows, 4, title, "Forms", (DIFFERENCE_NOTE,))


def group_answers(answers: Sequence[AnswerResult]) -> dict[tuple[str, ...], list[AnswerResult]]:
    """Return the answers by model, task and form, in the order of the tables."""

    def order(result: AnswerResult) -> tuple[object, ...]:
        return result.model, TASKS.index(result.task), FORMS.index(result.form)

    return group_by(
        sorted(answers, key=order), lambda result: (result.model, result.task, result.form)
    )


def build_state_table(
    name: str, title: str, states: Sequence[StateResult], key: Callable[[StateResult], str]
) -> Table:
    """Return the scores of the predicted states, grouped by a key."""
    rows = []
    ordered = sorted(states, key=lambda result: (result.model, order_name(key(result))))
    for labels, group in group_by(ordered, lambda result: (result.model, key(result))).items():
        by_step = group_by(group, lambda result: (result.problem, result.action)).values()
        exact = [fmean(result.score.exact for result in each) for each in by_step]
        low, high = compute_pass_interval(sum(exact), len(exact))
        variables = [part for result in group for part in result.score.locals.values()]
        values = [result.score.value for result in group if result.score.value is not None]
        usage = [result.usage for result in group]
        rows.append(
            (
                *labels,
                f"{len(group)}",
                f"{fmean(exact):.3f}",
                f"{low:.3f}-{high:.3f}",
                f"{fmean(result.score.partial for result in group):.3f}",
                f"{fmean(result.score.event for result in group):.3f}",
                f"{fmean(result.score.line for result in group):.3f}",
                format_share(variables),
                format_share(values),
                *list_mean_cells(usage, "input_tokens", "output_tokens", "seconds"),
            )
        )
    columns = (
        *("model", name.lower(), "steps", "exact", "95 % interval", "partial", "event", "line"),
        *("variables", "values", "tokens in", "tokens out", "seconds"),
    )
    return make_text_table(columns, rows, 2, title, name, (INTERVAL_NOTE, STATES_NOTE))


def name_direction_and_depth(result: StateResult) -> str:
    """Name an action's direction and call depth, for a row."""
    direction = "inverse" if is_inverse(result.action) else "forward"
    return f"{direction}, depth {result.depth}"


def order_name(name: str) -> tuple[int, str]:
    """Sort key: actions in their order, then other names alphabetically."""
    known = [str(action) for action in ACTIONS]
    return (known.index(name) if name in known else len(known), name)


def format_share(parts: Sequence[bool]) -> str:
    """Return how many parts are right, out of how many."""
    return f"{sum(parts)}/{len(parts)}" if parts else "-"


def render_crux_text(results: Results) -> str:
    """Return the tables for a terminal."""
    return "\n\n\n".join(map(format_table_as_text, build_tables(results)))


def render_crux_report(results: Results, source: str, digest: str) -> str:
    """Return the report on a results file, in Markdown."""
    facts, tables = list(list_crux_facts(results)), build_tables(results)
    return render_template(
        "spsbench.crux", "report.md", facts=facts, tables=tables, source=source, digest=digest
    )


def list_crux_facts(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the places, times and settings of the questions, as recorded in the results."""
    started = results.select(CruxRun)
    for model in dict.fromkeys(run.model for run in started):
        runs = [run for run in started if run.model == model]
        last = runs[-1]
        counted = len(
            {result.problem for result in results.select(AnswerResult) if result.model == model}
        )
        drawn = format_sample(counted, last.problems, "problems", runs)
        steps = sum(result.model == model for result in results.select(StateResult))
        dates = sorted({run.started[:10] for run in runs})
        yield "Model", f"{model}, temperature {last.temperature:g}"
        yield "Sample", f"{drawn}; {steps} steps; data set: sha256 {last.data}"
        yield "Measured", dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        yield "Machine", describe_machines(runs, "questions")
        yield "Versions", describe_versions(last)
        for note in dict.fromkeys(run.note for run in runs if run.note):
            yield "Note", note
    if results.remarks:
        yield "Remarks", "; ".join(results.remarks)
