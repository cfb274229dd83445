"""The results of repairs as tables of text and as a Markdown report.

model  condition  problems  samples  pass@1        95 %  pass@2  no code  calls  tokens in  out  seconds
-----  ---------  --------  -------  ------  ----------  ------  -------  -----  ---------  ---  -------
local  trace            31        2    0.42  0.28–0.57     0.5         1    1.0        812  190     21.3
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from njc.comparison.text import format_text_table
from spsbench.repair.measures import (
    ConditionDifference,
    ConditionSummary,
    compare_conditions,
    summarize_conditions,
)
from spsbench.repair.results import RepairResults, RepairRun
from spsbench.report.files import SEED, make_uniform
from spsbench.report.measures import BOOTSTRAP_ROUNDS

SUMMARY_HEADINGS = (
    *("model", "condition", "problems", "samples", "pass@1", "95 %", "pass@k"),
    *("no code", "calls", "tokens in", "out", "seconds"),
)
DIFFERENCE_HEADINGS = (
    *("model", "condition", "minus", "problems", "difference", "95 %", "better on", "worse on"),
)


def list_summary_rows(summaries: Sequence[ConditionSummary]) -> list[tuple[str, ...]]:
    """A row for each model and condition."""
    return [
        (
            row.model,
            row.condition,
            str(row.problems),
            str(row.samples),
            f"{row.pass_at[1]:.3f}",
            f"{row.low:.3f} to {row.high:.3f}",
            f"{row.pass_at[row.samples]:.3f} (k={row.samples})" if row.samples > 1 else "",
            str(row.without_code),
            f"{row.calls:.1f}",
            f"{row.input_tokens:,.0f}",
            f"{row.output_tokens:,.0f}",
            f"{row.seconds:.1f}",
        )
        for row in summaries
    ]


def list_difference_rows(differences: Sequence[ConditionDifference]) -> list[tuple[str, ...]]:
    """A row for each pair of conditions."""
    return [
        (
            row.model,
            row.first,
            row.second,
            str(row.problems),
            f"{row.difference:+.3f}",
            f"{row.low:+.3f} to {row.high:+.3f}",
            str(row.only_first),
            str(row.only_second),
        )
        for row in differences
        if row.problems
    ]


def format_repair_tables(results: RepairResults) -> str:
    """The tables of text that the command prints."""
    uniform = make_uniform()
    tables = [
        format_text_table(
            SUMMARY_HEADINGS,
            list_summary_rows(summarize_conditions(results.results, uniform)),
            labels=2,
        )
    ]
    if rows := list_difference_rows(compare_conditions(results.results, uniform)):
        tables.append(format_text_table(DIFFERENCE_HEADINGS, rows, labels=3))
    return "\n\n".join(tables)


def render_repair_report(parts: Sequence[tuple[str, str, RepairResults]], command: str) -> str:
    """The report in Markdown, of files given as name, digest and results; the same results make the same text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("spsbench.repair"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sections = [
        {
            "name": name,
            "digest": digest,
            "facts": list(list_run_facts(results.runs)),
            "summaries": list_summary_rows(summarize_conditions(results.results, make_uniform())),
            "differences": list_difference_rows(
                compare_conditions(results.results, make_uniform())
            ),
        }
        for name, digest, results in parts
    ]
    return environment.get_template("report.md").render(
        sections=sections,
        summary_headings=SUMMARY_HEADINGS,
        difference_headings=DIFFERENCE_HEADINGS,
        command=command,
        rounds=BOOTSTRAP_ROUNDS,
        seed=SEED,
    )


def list_run_facts(runs: Sequence[RepairRun]) -> Iterator[tuple[str, str]]:
    """Where, when and how the repairs ran; starts that only continued a run are not repeated."""
    seen: dict[tuple[str, str], None] = {}
    for run in runs:
        hardware, settings = run.hardware, run.settings
        data = ", ".join(f"{name} (sha256 {digest})" for name, digest in run.data.items())
        drawn = (
            f"{run.sample} of {run.problems} problems, drawn with seed {run.seed}"
            if run.sample
            else f"all {run.problems} problems"
        )
        temperature = (
            "the vendor's" if settings.temperature is None else f"{settings.temperature:g}"
        )
        tokens = f", {settings.tokens:,} tokens" if settings.tokens else ""
        versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
        rationales = f"; rationales by {run.rationales}" if run.rationales else ""
        facts = (
            ("Model", f"{run.model}{f' ({run.note})' if run.note else ''}{rationales}"),
            ("Data", f"{data}: {drawn}"),
            (
                "Budget of a repair",
                f"{settings.calls} calls{tokens}, {settings.reply_tokens:,} tokens a reply, temperature "
                f"{temperature}, {settings.test_seconds:g} s for the tests",
            ),
            (
                "Machine",
                f"{hardware.cpu}, {hardware.cores} cores, {hardware.memory_gib:.0f} GiB, {run.system}; "
                f"repairs at a time: {run.jobs} ({run.executor})",
            ),
            ("Versions", f"Python {run.python}, {versions}"),
            ("Measured", run.started[:10]),
        )
        seen |= dict.fromkeys(facts)
    yield from seen
