"""Pass rates of cases for each form of a program, as a table, with the failures.

model                      passed   rate   95 % interval  calls  tokens           cost  seconds
-------------------------  ------  -----  --------------  -----  ------  -------------  -------
openai/qwen2.5-coder-1.5b  6 of 6  1.000  0.438 to 1.000      6     908  price unknown     14.9
"""

from __future__ import annotations

from collections.abc import Sequence

from njc.measure.cases.case_file import Case
from njc.measure.cases.runner import CaseResult, Form
from njc.measure.pass_rates import PassRate
from njc.project.report import format_text_table
from njrt.data.records import record
from njrt.log.accounts import Totals, format_cost


@record
class Summary:
    """All runs of a form."""

    name: str
    cases: Sequence[tuple[Case, Sequence[CaseResult]]]
    """The runs of each case."""

    @property
    def runs(self) -> list[CaseResult]:
        return [run for _, runs in self.cases for run in runs]

    @property
    def answers(self) -> list[tuple[float, bool]]:
        """The runs whose blocks decided: the probability, and whether the answer is right."""
        decided = (run for run in self.runs if run.probability is not None)
        return [(run.probability or 0.0, run.has_passed) for run in decided]

    @property
    def passes(self) -> PassRate:
        """The runs that passed, by case."""
        return PassRate([(sum(it.has_passed for it in runs), len(runs)) for _, runs in self.cases])


def summarize(form: Form, cases: Sequence[Case], runs: Sequence[CaseResult]) -> Summary:
    """Summarize the runs of a form, named by the models that were asked if it names none."""
    asked = ", ".join(dict.fromkeys(name for run in runs for name in run.asked)) or "no model"
    reply = {None: "", True: "decide", False: "JSON"}[form.decide]
    by_case = [(case, [it for it in runs if it.case is case]) for case in cases]
    return Summary(", ".join(filter(None, (form.mode, form.model or asked, reply))), by_case)


def compare_forms(json: Summary, decided: Summary) -> str:
    """Return whether deciding costs right answers, and the line for pyproject if not."""
    passed, before = decided.passes.passed, json.passes.passed
    found = f"{decided.name}: {passed:,} runs passed, and {before:,} in JSON"
    if not decided.answers:
        return f"{found}; no block decided: `njc show` says which could, and not every model can"
    use = "in pyproject.toml:\n\n[tool.njc]\ndecide = true"
    return f"{found}; {'keep `decide` off' if passed < before else use}"


def format_table(summaries: Sequence[Summary]) -> str:
    """Return the table of all summaries."""
    head = ["model", "passed", "rate", "95 % interval", "calls", "tokens", "cost", "seconds"]
    rows = []
    for each in summaries:
        runs, passes = each.runs, each.passes
        used, (low, high) = sum((run.usage for run in runs), Totals()), passes.interval
        rows.append(
            [
                each.name,
                f"{passes.passed:,} of {len(runs):,}",
                f"{passes.rate:.3f}",
                f"{low:.3f} to {high:.3f}",
                f"{used.calls:,}",
                f"{used.tokens:,}",
                format_cost(used.usd, used.unpriced),
                f"{sum(run.seconds for run in runs):.1f}",
            ]
        )
    return format_text_table(head, rows)


def format_failures(summaries: Sequence[Summary]) -> str:
    """Return a line for each failed case."""
    lines = []
    for summary in summaries:
        for case, runs in summary.cases:
            if problems := [run.problem for run in runs if not run.has_passed]:
                model = f", {summary.name}" if len(summaries) > 1 else ""
                times = f" ({len(problems)} of {len(runs)} runs)" if len(runs) > 1 else ""
                lines.append(f"{case.name}{model}: {problems[0]}{times}")
    return "\n".join(lines)
