"""What the report says in numbers: means, deviations, intervals, what is missing, and the paper's own figures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from report_sample import DAY, MODEL, RUN, WHOLE, lines, priced, result

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PUBLISHED_TABLES
from spsbench.report.data import ReportData, collect_data
from spsbench.report.document import Table, format_table
from spsbench.report.measures import (
    MethodSummary,
    Setting,
    compute_bootstrap_interval,
    format_coverage,
    format_lead,
    summarize_method,
)
from spsbench.report.tables import (
    COLUMNS,
    SCRIPTED_NOTE,
    build_failure_table,
    build_method_tables,
    build_paper_table,
    list_facts,
    summarize_trials,
    write_report,
)
from spsbench.results import Failure, TrialResult, read_results
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[2]
SETTING = Setting(MODEL)


def of(method: str, results: tuple[TrialResult, ...] = WHOLE) -> MethodSummary:
    own = [result for result in results if result.trial.method == method]
    return summarize_method(SETTING, method, own, programs=2, repeats=2)


def collect(*files: list[str]) -> ReportData:
    return collect_data(
        {f"{number}.jsonl": read_results(written) for number, written in enumerate(files)}
    )


def list_tables(*files: list[str]) -> list[Table]:
    rows = summarize_trials(collect(*files))
    return [*build_method_tables(rows), build_paper_table(rows), build_failure_table(rows)]


def test_the_papers_counts_add_up() -> None:
    *rows, total = PUBLISHED_TABLES[9].rows
    for column in (1, 2):
        assert sum(int(row[column].split()[0]) for row in rows) == int(total[column])
        for row in rows:
            count, share = row[column].rstrip("%)").split(" (")
            assert float(share) == pytest.approx(100 * int(count) / int(total[column]), abs=0.06)


def test_the_papers_rows_are_of_known_methods_and_plausible() -> None:
    published = PUBLISHED_TABLES[4]
    for row in published.rows:
        cells = dict(zip(published.columns, row, strict=True))
        assert METHOD_BY_PAPER_NAME[cells["method"]] in METHODS
        for column in published.columns[2:]:
            printed = re.fullmatch(
                r"([\d.]+)(?: ± [\d.]+)?(?: \(([\d.]+)-([\d.]+)\))?", cells[column]
            )
            assert cells[column] == "-" or printed is not None
            if printed is None or printed[2] is None:
                continue
            mean, low, high = map(float, printed.groups())
            is_odd = (cells["model"], column, mean) == ("Sonnet 4", "effects", 34.7)
            assert is_odd or low <= mean <= high


def test_a_pass_rate_is_the_mean_over_programs_with_the_deviation_between_repeats() -> None:
    row = of("direct")
    assert row.rate == pytest.approx((1 + 0.75) / 2)
    assert row.deviation == pytest.approx(0.25 / 2**0.5)
    assert COLUMNS["run s"](row) == "3.0 (1.0-6.0)"
    assert row.shares == {"menu": [1.0, 1.0], "graph": [0.5, 1.0]}
    assert COLUMNS["tokens"](row) == "110"
    assert format_coverage(row) == "4 trials"


def test_a_mean_over_missing_trials_says_so_and_weighs_programs_alike() -> None:
    row = of("direct", WHOLE[:-1])
    assert row.rate == pytest.approx((1 + 0.5) / 2)
    assert row.deviation is None
    assert format_coverage(row) == "2 of 2 programs, 1 of 2 repeats whole (3 of 4 trials)"


def test_the_interval_is_that_of_its_formula() -> None:
    numbers = Random(7)
    programs = [[numbers.random() for _ in range(3)] for _ in range(25)]
    low, high = compute_bootstrap_interval(programs)
    assert (low, high) == compute_bootstrap_interval(programs)
    mean = fmean(map(fmean, programs))
    between = fmean((fmean(shares) - mean) ** 2 for shares in programs)
    within = fmean(
        fmean((value - fmean(shares)) ** 2 for value in shares) / 3 for shares in programs
    )
    error = ((between + within) / 25) ** 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert low < mean < high
    assert compute_bootstrap_interval([[0.5], [0.5]]) == (0.5, 0.5)


def test_differences_are_paired() -> None:
    programs = dict(zip(SIX, (8, 7, 6, 5, 4, 3), strict=True))
    more, fewer = (
        [result(name, method, 1, passed - less, checks=8) for name, passed in programs.items()]
        for method, less in (("direct", 0), ("manual", 2))
    )
    one, other = of("direct", tuple(more)), of("manual", tuple(fewer))
    assert format_lead(one, other) == "+0.25 (0.25 to 0.25)"
    assert format_lead(other, one) == "-0.25 (-0.25 to -0.25)"


def test_our_rows_stand_after_the_papers_rows_of_the_same_method() -> None:
    rows = build_paper_table(summarize_trials(collect(lines(WHOLE)))).rows
    assert [row[:2] for row in rows[:3]] == [
        *((model, "Manual Impl") for model in ("Sonnet 4, paper", "GPT-4.1, paper")),
        (MODEL, "manual"),
    ]
    assert rows[2][2:4] == ("0.38", "3.0 (2.0-4.0)")
    assert rows[2][-2:] == ("0.25-0.50", "2 of 25 programs, 0 of 2 repeats whole (4 of 50 trials)")


def test_each_setting_has_rows_of_its_own() -> None:
    cold = replace(RUN, temperature=0.0)
    rows = summarize_trials(collect(lines(WHOLE), lines(priced(WHOLE, 0.01), cold)))
    assert [str(row.setting) for row in rows] == [*[MODEL] * 2, *[f"{MODEL}, temperature 0"] * 2]
    assert [COLUMNS["USD"](row) for row in rows] == [*["no price"] * 2, *["0.0100"] * 2]


def test_calls_that_a_cache_answered_are_told() -> None:
    reused = [
        replace(result, reused_calls=2) for result in WHOLE if result.trial.method == "direct"
    ]
    notes = list_tables(lines(reused))[0].notes
    assert f"{2 * len(reused)} calls; seconds, tokens and cost exclude them." in " ".join(notes)


@pytest.mark.parametrize(
    ("temperature", "said"), [(None, "Temperature: not set"), (0.5, "temperature 0.5")]
)
def test_the_temperature_is_told(temperature: float | None, said: str) -> None:
    run = replace(RUN, temperature=temperature)
    facts = list_facts(collect(lines(WHOLE, run)))
    assert said in "\n".join(map(": ".join, facts))


def test_failures_are_counted_beside_the_papers() -> None:
    found = list_tables(lines(WHOLE))[-1]
    said = {row[0]: row[found.columns.index(f"{MODEL}, direct")] for row in found.rows}
    assert (said["100% Pass"], said["Reasoning"]) == ("3 (75.0%)", "1 (25.0%)")
    assert (said["Hallucination"], said["Total"]) == ("-", "4")


def test_every_number_of_the_report_can_be_recomputed_from_the_lines() -> None:
    written = lines(WHOLE)
    rows = summarize_trials(collect(written))
    trials = [trial for trial in map(json.loads, written) if trial["kind"] == "trial"]
    for method in ("manual", "direct"):
        own = [trial for trial in trials if trial["method"] == method]
        shares = [fmean(trial["checks"].values()) for trial in own]
        expected = {
            "pass rate": fmean(shares),
            "run s": fmean(trial["run_seconds"] for trial in own),
            "effects": fmean(trial["effects"] for trial in own),
            "tokens in": fmean(trial["usage"]["input"] for trial in own),
            "tokens out": fmean(trial["usage"]["output"] for trial in own),
        }
        if method == "manual":
            del expected["effects"]
        (row,) = (row for row in rows if row.method == method)
        for column, value in expected.items():
            number = COLUMNS[column](row).split()[0].replace(",", "")
            step = 10.0 ** -len(number.partition(".")[2])
            assert float(number) == pytest.approx(value, abs=step / 2 + 1e-9), (method, column)


def test_tables_hold_every_cell_in_aligned_columns() -> None:
    for found in list_tables(lines(WHOLE)):
        text = format_table(found)
        assert all(cell in text for row in found.rows for cell in row)
        grid = [line for line in text.splitlines() if line.startswith("|")]
        assert len(grid) == len(found.rows) + 2
        assert len({tuple(at for at, c in enumerate(line) if c == "|") for line in grid}) == 1


SIX = TASK_NAMES[:6]
"""As many programs as it takes to compare."""


def passing(
    method: str, passed: int | tuple[int, ...], programs: Sequence[str] = SIX
) -> Iterator[TrialResult]:
    """Yield two repeats of each program, with so many of eight checks passed."""
    for position, program in enumerate(programs):
        count = passed if isinstance(passed, int) else passed[position]
        yield from (result(program, method, repeat, count, checks=8) for repeat in (1, 2))


def compared(*results: TrialResult) -> tuple[str, dict[str, str]]:
    """Return the heading of the comparison with the best method, and the cell of each method."""
    found, _ = build_method_tables(summarize_trials(collect(lines(results))))
    return found.columns[-1], {row[0]: row[-1] for row in found.rows}


def test_each_method_is_compared_with_the_best_on_common_programs() -> None:
    seven = TASK_NAMES[:7]
    heading, cells = compared(
        *passing("direct", (2, 2, 2, 2, 2, 2, 8), seven),
        *passing("manual", 1, seven),
        *passing("natural", 3, SIX),
        *passing("auto", 8, seven[:1]),
        *passing("static", 8, TASK_NAMES[7:8]),
    )
    assert heading == "minus direct"
    assert cells["direct"] == cells["static"] == "-"
    assert cells["natural"] == "+0.12 (0.12 to 0.12)"
    assert re.fullmatch(r"-0\.23 \(-0\.\d\d to -0\.\d\d\)", cells["manual"])
    assert cells["auto (too low)"] == "+0.75"


def test_a_run_of_scripts_says_so() -> None:
    written = (ROOT / "tests/cases/spsbench/results.jsonl").read_text(encoding="utf-8")
    found = read_results(written.splitlines(keepends=True))
    assert SCRIPTED_NOTE in [*write_report({"results.jsonl": found})]
    rows = summarize_trials(collect_data({"results.jsonl": found}))
    assert sum(len(row.results) for row in rows) == written.count('"kind": "trial"')


def test_trials_without_a_result_are_left_out_with_the_reason() -> None:
    cut = replace(WHOLE[-1], ending="cost limit")
    failed = replace(WHOLE[-2], failure=Failure("server", "no reply within 120 s"))
    for trials, reasons in (
        ((*WHOLE[:-1], cut), ["1 trial cut off by the limit on cost, left out"]),
        ((*WHOLE[:-2], failed, WHOLE[-1]), ["1 trial without a reply of the server, left out"]),
    ):
        data = collect(lines(trials))
        assert len(data.trials[SETTING]) == 7
        assert data.remarks == tuple(f"0.jsonl: {reason}" for reason in reasons)


@pytest.mark.parametrize(
    ("method", "started", "is_low"),
    [
        ("auto", "2026-11-27T00:00:00Z", True),
        ("auto", "2026-11-30T00:00:00Z", False),
        ("static", "2026-11-27T00:00:00Z", False),
    ],
)
def test_rows_that_an_error_of_the_method_makes_too_low_are_marked(
    method: str, started: str, is_low: bool
) -> None:
    trials = [replace(each, method=method, started=started) for each in WHOLE[:1]]
    found, _ = build_method_tables(summarize_trials(collect(lines(trials))))
    assert found.rows[0][0] == method + " (too low)" * is_low
    assert any("too low until" in " ".join(note.split()) for note in found.notes) is is_low


def test_the_later_of_two_files_counts() -> None:
    newer = replace(WHOLE[0], run_seconds=9.0, started=DAY)
    data = collect(lines(WHOLE), lines([newer]))
    (found,) = (result for result in data.trials[SETTING] if result.trial == newer.trial)
    assert found.run_seconds == 9.0
