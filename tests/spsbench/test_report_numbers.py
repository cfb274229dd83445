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
from report_sample import DAY, GRAPH, MODEL, RUN, WHOLE, graph_lines, lines, priced, result

from spsbench.methods import METHODS
from spsbench.published import METHOD_BY_PAPER_NAME, PUBLISHED_TABLES
from spsbench.report.answer import Advice, format_percent
from spsbench.report.data import collect_data
from spsbench.report.files import list_run_facts, make_uniform
from spsbench.report.measures import (
    MeasureScope,
    Setting,
    compute_bootstrap_interval,
    compute_difference_interval,
    format_coverage,
    summarize_method,
)
from spsbench.report.results_report import render_template
from spsbench.report.table import Table, format_table_as_text
from spsbench.report.tables import build_full_table
from spsbench.report.writing import Report, build_report, summarize_methods
from spsbench.results import Failure, InputError, TrialResult
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[2]
SCOPE = MeasureScope(("menu", "graph"), 2)
SETTING = Setting(MODEL)
SUITE_TABLES = (1, 2, 4, 5, 6, 7)


def of(method: str, results: tuple[TrialResult, ...] = WHOLE, scope: MeasureScope = SCOPE):
    own = [result for result in results if result.trial.method == method]
    return summarize_method(SETTING, method, own, scope, Random(1).random)


def report(*files: list[str]) -> Report:
    data = collect_data(
        {f"{number}.jsonl": results_lines for number, results_lines in enumerate(files)}
    )
    return build_report(data, ("menu", "graph"), ("menu",), make_uniform)


def table(made: Report, name: str) -> Table:
    (found,) = (candidate for candidate in made.tables if candidate.name == name)
    return found


def texts(found: Table, source: str) -> list[list[str]]:
    return [list(row.texts) for row in found.rows if row.source == source]


@pytest.mark.parametrize("number", [9, 10, 11])
def test_the_papers_counts_add_up(number: int) -> None:
    *rows, total = PUBLISHED_TABLES[number].rows
    for column in (1, 2):
        assert sum(int(row[column].split()[0]) for row in rows) == int(total[column])
        for row in rows:
            count, share = row[column].rstrip("%)").split(" (")
            assert float(share) == pytest.approx(100 * int(count) / int(total[column]), abs=0.06)


@pytest.mark.parametrize("number", SUITE_TABLES)
def test_the_papers_rows_are_of_known_methods_and_plausible(number: int) -> None:
    published = PUBLISHED_TABLES[number]
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
            is_odd = (number, cells["model"], column, mean) == (4, "Sonnet 4", "effects", 34.7)
            assert is_odd or low <= mean <= high


def test_tables_of_the_paper_agree_with_one_another() -> None:
    def rates(number: int) -> dict[tuple[str, str], str]:
        return {
            (row[0], METHOD_BY_PAPER_NAME[row[1]]): row[2] for row in PUBLISHED_TABLES[number].rows
        }

    assert len(rates(2)) == 8
    assert rates(2).items() <= rates(4).items()
    assert rates(4).keys() == rates(5).keys()


def test_a_pass_rate_is_the_mean_over_programs_with_the_deviation_between_repeats() -> None:
    row = of("direct")
    assert row.rate.mean == pytest.approx((1 + 0.75) / 2)
    assert row.rate.sd == pytest.approx(0.25 / 2**0.5)
    assert row.run_seconds == type(row.run_seconds)(3.0, 1.0, 6.0)
    assert row.by_program == {"menu": 1.0, "graph": 0.75}
    assert row.tokens == 110
    assert format_coverage(row.coverage) == "4 trials"


def test_a_mean_over_missing_trials_says_so_and_weighs_programs_alike() -> None:
    row = of("direct", WHOLE[:-1])
    assert row.rate.mean == pytest.approx((1 + 0.5) / 2)
    assert row.rate.sd is None
    assert format_coverage(row.coverage) == (
        "2 of 2 programs, 1 of 2 repeats whole (3 of 4 trials)"
    )


def test_the_interval_is_that_of_its_formula() -> None:
    numbers = Random(7)
    programs = [[numbers.random() for _ in range(3)] for _ in range(25)]
    low, high = compute_bootstrap_interval(programs, Random(1).random)
    assert (low, high) == compute_bootstrap_interval(programs, Random(1).random)
    mean = fmean(map(fmean, programs))
    between = fmean((fmean(shares) - mean) ** 2 for shares in programs)
    within = fmean(
        fmean((value - fmean(shares)) ** 2 for value in shares) / 3 for shares in programs
    )
    error = ((between + within) / 25) ** 0.5
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert low < mean < high
    assert compute_bootstrap_interval([[0.5], [0.5]], Random(1).random) == (0.5, 0.5)


def test_differences_are_paired() -> None:
    low, high = compute_difference_interval(of("direct"), of("manual"), Random(1).random)
    assert (low, high) == (0.5, 0.5)


def test_our_rows_stand_after_the_papers_rows_of_the_same_method() -> None:
    found = table(report(lines(WHOLE)), "Table 2")
    order = [(row.source, row.texts[2]) for row in found.rows]
    assert order[:3] == [("paper", "Manual Impl"), ("paper", "Manual Impl"), ("measured", "manual")]
    assert order[-1] == ("measured", "direct")
    assert texts(found, "measured")[0] == [
        *("measured", MODEL, "manual", "0.38 ± 0.00", "3.0 (2.0-4.0)", "0.25-0.50", "4 trials")
    ]


def test_tables_take_the_programs_and_settings_that_they_are_about() -> None:
    cold = replace(RUN, temperature=0.0)
    made = report(lines(WHOLE), lines(priced(WHOLE, 0.01), cold))
    assert [row[3] for row in texts(table(made, "Table 1"), "measured")][:2] == ["0.25 ± 0.00"] * 2
    assert {row[1] for row in texts(table(made, "Table 6"), "measured")} == {MODEL}
    assert {row[1] for row in texts(table(made, "Table 7"), "measured")} == {
        f"{MODEL}, temperature 0"
    }
    assert [row[3] for row in texts(table(made, "Table 5"), "measured")] == [
        *["0.50 ± 0.00"] * 2,
        *["1.00 ± 0.00"] * 2,
    ]


def test_what_was_not_measured_is_said() -> None:
    made = report(graph_lines())
    assert made.parts == ()
    assert all(
        "Not measured here" in table(made, f"Table {number}").notes[-1] for number in SUITE_TABLES
    )


def test_calls_that_a_cache_answered_are_told() -> None:
    reused = [
        replace(result, reused_calls=2) for result in WHOLE if result.trial.method == "direct"
    ]
    notes = table(report(lines(reused)), "Everything").notes
    assert f"{2 * len(reused)} calls; seconds, tokens and cost exclude them." in " ".join(notes)


@pytest.mark.parametrize(("temperature", "said"), [(None, "no temperature set"), (0.5, "0.5")])
def test_the_temperature_is_told(temperature: float | None, said: str) -> None:
    run = replace(RUN, temperature=temperature)
    facts = dict(list_run_facts(collect_data({"1.jsonl": lines(WHOLE, run)})))
    assert said in facts["Model"]


def test_failures_and_refused_effects_are_counted_beside_the_papers() -> None:
    made = report(lines(WHOLE))
    column = f"measured: {MODEL}, direct"
    for name, label, count in (
        ("Table 9", "100% Pass", "3 (75.0%)"),
        ("Table 9", "Reasoning", "1 (25.0%)"),
        ("Table 9", "Hallucination", "-"),
        ("Table 10", "Type Error", "4 (100.0%)"),
        ("Table 11", "Correction", "4 (100.0%)"),
        ("Table 11", "Total", "4"),
    ):
        found = table(made, name)
        (row,) = (row for row in found.rows if row.texts[0] == label)
        assert row.texts[found.columns.index(column)] == count


def test_the_growing_graph_leaves_out_of_means_what_was_never_sent() -> None:
    rows = texts(table(report(graph_lines()), "Figure 10"), "measured")
    assert len(rows) == len(GRAPH)
    assert [row[1:] for row in rows if row[2] == "manual"][-1] == [
        *("100,000 papers", "manual", "0.00", "-", "-", "-", "1", "1")
    ]


def test_every_number_of_the_report_can_be_recomputed_from_the_lines() -> None:
    written = lines(WHOLE)
    found = table(report(written), "Everything")
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
        (row,) = (row for row in found.rows if row.texts[:2] == (MODEL, method))
        said = dict(zip(found.columns, row.texts, strict=True))
        for column, value in expected.items():
            number = said[column].split()[0].replace(",", "")
            step = 10.0 ** -len(number.partition(".")[2])
            assert float(number) == pytest.approx(value, abs=step / 2 + 1e-9), (method, column)


def test_tables_as_text_and_markdown_hold_every_cell() -> None:
    for found in report(lines(WHOLE), graph_lines()).tables:
        markdown = render_template("spsbench.report", "table.md", table=found)
        for form in (format_table_as_text(found), markdown):
            assert all(text in form for row in found.rows for text in row.texts)
        assert len({line.count("|") for line in markdown.split("\n") if "|" in line}) == 1


SIX = TASK_NAMES[:6]
"""As many programs as it takes to rule out chance."""


def passing(
    method: str, passed: int | tuple[int, ...], programs: Sequence[str] = SIX
) -> Iterator[TrialResult]:
    """Yield two repeats of each program, with so many of eight checks passed."""
    for position, program in enumerate(programs):
        count = passed if isinstance(passed, int) else passed[position]
        yield from (result(program, method, repeat, count, checks=8) for repeat in (1, 2))


def three(direct: int, static: int, programs: Sequence[str] = SIX) -> tuple[TrialResult, ...]:
    methods = {"direct": direct, "static": static, "manual": 1}
    return tuple(
        trial for name, passed in methods.items() for trial in passing(name, passed, programs)
    )


def answered(*results: TrialResult, programs: Sequence[str] = SIX) -> Advice:
    (part,) = build_report(
        collect_data({"a.jsonl": lines(results)}), programs, (), make_uniform
    ).parts
    return part.answer


@pytest.mark.parametrize(
    ("results", "programs", "advice"),
    [
        (three(7, 5), SIX, "Use direct: it passes more than every other method, and more than chance explains."),
        (three(6, 6), SIX, "Use direct: it passes most; static may be as good, but does not take fewer tokens."),
        (three(7, 5, SIX[:5]), SIX[:5], "Use direct: it passes most; static and manual may be as good, but do not take fewer tokens."),
        (three(0, 0), SIX, "Use manual: it passes more than every other method, and more than chance explains."),
        (tuple(passing("direct", 0)), SIX, "No method passed a check: none can be recommended."),
        (WHOLE[:4], ("menu", "graph"), "Only manual has been measured."),
        (WHOLE[:3], ("menu", "graph"), "Only manual has been measured. This is over 2 of 2 programs, 1 of 2 repeats whole (3 of 4 trials) only."),
    ],
)  # fmt: skip
def test_the_advice_follows_from_the_trials(
    results: tuple[TrialResult, ...], programs: Sequence[str], advice: str
) -> None:
    assert answered(*results, programs=programs).advice == advice


def test_a_cheaper_method_that_may_be_as_good_is_advised() -> None:
    made = answered(*passing("static", (8, 6, 4, 2, 7, 3)), *passing("direct", (4, 5, 6, 3, 5, 6)))
    assert made.advice == (
        "Start with direct: static passes most, but too little more to rule out chance (2 points), "
        "and of the methods as close, direct takes the fewest tokens."
    )
    assert [name for name, _ in made.sentences] == ["static", "direct"]
    assert "of which 0.5 s and 1,100 tokens are for building it, once" in made.sentences[0][1]
    assert made.sentences[1][1].endswith("; 2 points behind static, which may be chance.")


def test_of_few_programs_nothing_follows() -> None:
    made = answered(
        *passing("static", 8, SIX[:2]), *passing("direct", 1, SIX[:2]), programs=SIX[:2]
    )
    assert "static passes most, but on 2 programs, too few to rule out chance" in made.advice
    assert made.sentences[1][1].endswith("; 88 points behind static, on 2 programs only.")


@pytest.mark.parametrize(
    ("passed", "programs", "said"),
    [
        (2, 1, "; it is level with direct on the 1 program that both have."),
        (8, 1, "; 75 points ahead of direct on the 1 program that both have, too few to rule out chance."),
        (1, 6, "; 12 points behind direct on the 6 programs that both have, more than chance explains."),
        (3, 6, "; 12 points ahead of direct on the 6 programs that both have, more than chance explains."),
    ],
)  # fmt: skip
def test_a_method_that_was_tried_on_fewer_programs_is_no_candidate_and_compared_where_it_was(
    passed: int, programs: int, said: str
) -> None:
    seven = TASK_NAMES[:7]
    made = answered(
        *passing("direct", (2, 2, 2, 2, 2, 2, 8), seven),
        *passing("manual", 1, seven),
        *passing("auto", passed, seven[:programs]),
        programs=seven,
    )
    assert made.advice.startswith("Use direct")
    (sentence,) = (text for name, text in made.sentences if name == "auto")
    assert sentence.partition(" This is over")[0].endswith(said)
    assert f"over {programs} of 7 programs, 0 of 2 repeats whole" in sentence
    assert made.sentences[-1][0] == "auto"
    assert ("% to " in sentence) == (programs > 1)


def test_a_method_that_alone_has_all_programs_is_not_said_to_be_the_best() -> None:
    seven = TASK_NAMES[:7]
    made = answered(*passing("direct", 8, seven), *passing("manual", 1, seven[:6]), programs=seven)
    assert made.advice.startswith("Only direct has been measured on 7 programs: no method")


def test_sentences_round_as_the_tables_do() -> None:
    rates = (0.065, 0.025, 0.0649, 1.0)
    assert [f"{rate:.2f}" for rate in rates] == ["0.07", "0.03", "0.06", "1.00"]
    assert [format_percent(rate) for rate in rates] == ["7%", "3%", "6%", "100%"]


def test_methods_that_share_no_program_are_not_compared() -> None:
    made = answered(*passing("direct", 8, SIX[:1]), *passing("manual", 1, SIX[1:2]))
    assert "; no program was tried with both this and direct." in made.sentences[1][1]


def test_a_run_of_scripts_is_no_advice() -> None:
    written = (ROOT / "tests/cases/spsbench/results.jsonl").read_text(encoding="utf-8")
    data = collect_data({"results.jsonl": written.splitlines(keepends=True)})
    (part,) = build_report(data, TASK_NAMES, (), make_uniform).parts
    assert part.answer.advice.startswith("Scripts answered instead of a model")
    assert sum(row.coverage.trials for row in part.rows) == written.count('"kind": "trial"')
    assert {name for name, _ in part.answer.sentences} <= METHODS.keys()


def test_lines_of_all_kinds_may_share_a_file() -> None:
    data = collect_data({"all.jsonl": [*lines(WHOLE), *graph_lines()]})
    assert (len(data.trials[SETTING]), len(data.asked)) == (8, len(GRAPH))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("{\n", "bad.jsonl: line 3 of the results is damaged"),
        ('{"kind": "trial"}\n', "bad.jsonl: line 3 of the results is damaged"),
        ('{"kind": "graph", "size": 10}\n', "bad.jsonl: line 3 "),
    ],
)
def test_a_damaged_line_is_named(damage: str, said: str) -> None:
    written = lines(WHOLE)
    with pytest.raises(InputError, match=said):
        collect_data({"bad.jsonl": [*written[:2], damage, *written[2:]]})


def test_trials_without_a_result_are_left_out_with_the_reason() -> None:
    cut = replace(WHOLE[-1], ending="cost limit")
    failed = replace(WHOLE[-2], failure=Failure("server", "no reply within 120 s"))
    for trials, reasons in (
        ((*WHOLE[:-1], cut), ["1 trial cut off by the limit on cost, left out"]),
        ((*WHOLE[:-2], failed, WHOLE[-1]), ["1 trial without a reply of the server, left out"]),
    ):
        data = collect_data({"a.jsonl": lines(trials)})
        assert len(data.trials[SETTING]) == 7
        assert data.remarks == tuple(f"a.jsonl: {reason}" for reason in reasons)


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
    (row,) = summarize_methods(SETTING, trials, MeasureScope(("menu",), 1), make_uniform)
    assert build_full_table([row]).rows[0].texts[1] == method + " (too low)" * is_low
    assert any("too low until" in note for note in build_full_table([row]).notes) is is_low


def test_the_later_of_two_files_counts() -> None:
    newer = replace(WHOLE[0], run_seconds=9.0, started=DAY)
    data = collect_data({"a.jsonl": lines(WHOLE), "b.jsonl": lines([newer])})
    (found,) = (result for result in data.trials[SETTING] if result.trial == newer.trial)
    assert found.run_seconds == 9.0
