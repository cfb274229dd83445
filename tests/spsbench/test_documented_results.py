"""The tables of spsbench/docs equal the published results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from spsbench.journal import read_results_file
from spsbench.repair.results import REPAIR_KINDS, RepairResult
from spsbench.report.by_problem import compare_rates, estimate_rate, format_difference, group_passes
from spsbench.report.measures import compute_bootstrap_interval
from spsbench.results import group_by
from spsbench.suite import REWRITTEN_TASK_NAMES, TASK_NAMES, read_program_source

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "spsbench/results/qwen2.5-coder-1.5b.jsonl"


def read_trials(results: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the trials by method and program; the last one of each counts, unless the server did not reply."""
    trials: dict[str, dict[str, Any]] = {}
    for line in results.read_text(encoding="utf-8").splitlines():
        trial = json.loads(line)
        if trial["kind"] == "trial" and (trial["failure"] or {}).get("category") != "server":
            trials.setdefault(trial["method"], {})[trial["program"]] = trial
    return trials


def summarize(trials: Mapping[str, Any]) -> tuple[str, str, str]:
    passed = [compute_rate(trial) for trial in trials.values()]
    calls = fmean(trial["calls"] for trial in trials.values())
    tokens = fmean(trial["usage"]["input"] + trial["usage"]["output"] for trial in trials.values())
    return f"{fmean(passed):.2f}", f"{calls:.1f}", f"{tokens:,.0f}"


def test_the_table_of_the_programs_whose_prompts_change_the_state() -> None:
    trials = read_trials()
    programs = trials["natural-ask"].keys()
    page = (ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8")
    table = page.partition("| method | checks passed |")[2].partition("\n\n")[0]
    documented: dict[str, tuple[str, ...]] = {}
    for row in table.splitlines()[2:]:
        methods, passed, calls, tokens = (cell.strip() for cell in row.strip("|").split("|"))
        for number, method in enumerate(re.findall(r"`([\w-]+)`", methods)):
            figures = (re.findall(r"[\d.,]*\d", cell) for cell in (calls, tokens))
            documented[method] = (passed, *(each[number] for each in figures))
    measured = {
        method: summarize({name: found[name] for name in programs if name in found})
        for method, found in trials.items()
    }
    assert documented == measured


def test_the_sentences_about_one_repeat() -> None:
    trials = read_trials()
    rates = {method: {n: compute_rate(t) for n, t in by.items()} for method, by in trials.items()}

    def mean(method: str) -> str:
        return f"{fmean(rates[method].values()):.2f}"

    def difference(one: str, other: str) -> str:
        leads = [[rates[one][name] - rates[other][name]] for name in sorted(rates[one])]
        low, high = compute_bootstrap_interval(leads)
        return f"{low:.2f} to {high:.2f} more than `{other}`"

    tokens = {method: fmean(map(count_tokens, by.values())) for method, by in trials.items()}
    natural, rewritten = (tokens[name] / tokens["manual"] for name in ("natural", "rewritten"))
    late = {m: sum(t["ending"] == "timeout" for t in by.values()) for m, by in trials.items()}
    without_code = sum(trial["ending"] == "not built" for trial in trials["static"].values())
    text = " ".join((ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8").split())
    for sentence in (
        f"`natural` passes {mean('natural')}, `manual` {mean('manual')} and `rewritten` {mean('rewritten')},",
        f"at {natural:.2f} and {rewritten:.2f} times the tokens of `manual`.",
        f"`rewritten` passes {difference('rewritten', 'natural')}, and {difference('rewritten', 'manual')},",
        f"answers each block with code, passes {mean('direct')};",
        f"`static` passes {mean('static')} of {len(trials['static'])} programs",
        f"in {without_code} of these programs a block got no code",
    ):
        assert sentence in text
    assert [late[method] for method in ("natural", "manual", "rewritten", "direct")] == [0, 0, 0, 2]
    assert not any(trial["blocks"] for trial in trials["static"].values())


def test_the_blocks_of_the_benchmark_that_need_no_code() -> None:
    effects = [
        authority.effects or authority.block.options.effects
        for name in TASK_NAMES
        for authority in compile_source(
            SourceFile("natural.njpy", read_program_source(name, "natural.njpy").encode())
        ).authorities
    ]
    data, every = effects.count("answer"), len(effects)
    page = (ROOT / "docs/decisions.md").read_text(encoding="utf-8")
    assert f"{data} of the {every} blocks of the benchmark need no" in page
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"data: {data} of the {every} blocks of our [benchmark]" in readme


OLDER_REPEATS = "repeats/qwen2.5-coder-1.5b.jsonl"
REPEATS = "writer/repeats-qwen2.5-coder-1.5b.jsonl"


def read_repeats(name: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the repeated trials by method and program, in the order of their repeats."""
    lines = (ROOT / "spsbench/results" / name).read_text("utf-8")
    trials = [line for line in map(json.loads, lines.splitlines()) if line["kind"] == "trial"]
    return {
        method: group_by(
            sorted(found, key=lambda trial: trial["repeat"]), lambda trial: trial["program"]
        )
        for method, found in group_by(trials, lambda trial: trial["method"]).items()
    }


def compute_rate(trial: Mapping[str, Any]) -> float:
    return fmean(map(bool, trial["checks"].values()))


Repeats = Mapping[str, Mapping[str, list[dict[str, Any]]]]


def list_repeat_rows(found: Repeats) -> list[tuple[str, ...]]:
    rows = []
    for method, programs in found.items():
        rates = {name: [compute_rate(each) for each in found] for name, found in programs.items()}
        repeats = [fmean(rate) for rate in zip(*rates.values(), strict=True)]
        parts = [
            [
                rate
                for name, each in rates.items()
                if (name in REWRITTEN_TASK_NAMES) is it
                for rate in each
            ]
            for it in (True, False)
        ]
        trials = [trial for found in programs.values() for trial in found]
        rows.append(
            (
                *(method, f"{fmean(repeats):.2f}", ", ".join(f"{rate:.2f}" for rate in repeats)),
                *(f"{fmean(part):.2f}" for part in parts if part),
                f"{fmean(trial['calls'] for trial in trials):.1f}",
                f"{fmean(map(count_tokens, trials)):,.0f}",
            )
        )
    return sorted(rows, key=lambda row: row[1], reverse=True)


def count_tokens(trial: Mapping[str, Any]) -> int:
    return trial["usage"]["input"] + trial["usage"]["output"]


def format_lead(found: Repeats, one: str, other: str, programs: Iterable[str]) -> str:
    """Return the interval of the difference of two methods, resampling the programs."""
    rates = [
        [fmean(compute_rate(each) for each in found[method][name]) for method in (one, other)]
        for name in sorted(programs)
    ]
    low, high = compute_bootstrap_interval([[a - b] for a, b in rates])
    return f"{low:.2f} to {high:.2f} more than `{other}`"


def test_the_older_repeats_of_three_methods() -> None:
    page = (ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8")
    found = read_repeats(OLDER_REPEATS)
    assert read_rows(page, "| method | all 25 programs |") == list_repeat_rows(found)
    text = " ".join(page.partition("### Older repeats")[2].split())
    for one, other in (("rewritten", "natural"), ("rewritten", "manual"), ("natural", "manual")):
        assert format_lead(found, one, other, found[one]) in text


def test_the_repeats_with_code_of_a_strong_writer() -> None:
    page = (ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8")
    every = read_repeats(REPEATS)
    found = {method: every.pop(method) for method in ("static", "reviewed", "natural", "manual")}
    rows = list_repeat_rows(found)
    assert read_rows(page, "| method | all 25, thrice |") == rows
    assert all({*programs} == {*TASK_NAMES} for programs in found.values())
    late = [[it["ending"] for each in by.values() for it in each] for by in found.values()]
    assert [endings.count("timeout") for endings in late] == [0, 0, 1, 1]
    text = " ".join(page.partition("Three repeats of four")[2].partition("###")[0].split())
    for one, other in combinations(found, 2):
        assert format_lead(found, one, other, TASK_NAMES) in text
    lead = format_lead(found, "reviewed", "natural", REWRITTEN_TASK_NAMES)
    assert f"On the eight programs, `reviewed` passes {lead}" in text
    natural, manual = (
        fmean(count_tokens(it) for each in found[method].values() for it in each)
        for method in ("natural", "manual")
    )
    assert f"at {natural / manual:.2f} times its tokens" in text
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split()).replace(" %", "%")
    reviewed, live, by_hand = (
        fmean(compute_rate(it) for each in found[method].values() for it in each)
        for method in ("reviewed", "natural", "manual")
    )
    shown = f"live blocks pass {live:.0%} of the benchmark's checks, code that Claude wrote once"
    assert f"{shown} {reviewed:.0%}, and prompts by hand {by_hand:.0%};" in readme


def test_the_repeats_of_the_eight_programs() -> None:
    page = (ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8")
    every = read_repeats(REPEATS)
    found = {
        method: {name: every[method].pop(name) for name in REWRITTEN_TASK_NAMES}
        for method in ("rewritten", "reviewed", "manual", "natural")
    }
    rows = [row[:3] + row[4:] for row in list_repeat_rows(found)]
    assert read_rows(page, "| method | the 8 rewritten, thrice |") == rows
    text = " ".join(page.split())
    for other in ("natural", "manual"):
        assert format_lead(found, "rewritten", other, REWRITTEN_TASK_NAMES) in text
    others = sum(map(len, every["rewritten"].values()))
    traces = ROOT / "spsbench/results/writer/traces/rewritten-repeats.jsonl"
    events = [json.loads(line) for line in traces.read_text(encoding="utf-8").splitlines()]
    began = {it["place"].partition("/")[0] for it in events if it["event"] == "began"}
    assert began == {*REWRITTEN_TASK_NAMES}
    replies = sum(it["event"] == "replied" for it in events)
    untraced = [found["rewritten"][name][0]["calls"] for name in ("battle", "calendar")]
    trials = [trial for trials in found["rewritten"].values() for trial in trials]
    assert replies == sum(trial["calls"] for trial in trials) - sum(untraced)
    assert f"has the traces of {len(trials) - len(untraced)} of its {len(trials)} trials" in text
    assert f"also has {others} trials of `rewritten` in other programs" in text


@pytest.mark.parametrize("method", ["reviewed", "natural", "rewritten"])
def test_the_traces_of_seven_programs(method: str) -> None:
    folder = ROOT / "spsbench/results/writer"
    trials = read_trials(folder / "traced-qwen2.5-coder-1.5b.jsonl")[method]
    programs = {*REWRITTEN_TASK_NAMES} - {"pos_tagging"}
    page = " ".join((ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8").split())
    rate = f"`{method}`{' passes' * (method == 'reviewed')} {fmean(compute_rate(trials[name]) for name in programs):.2f}"
    assert rate in page.partition("Seven of the eight programs ran once more")[2]
    lines = (folder / f"traces/{method}.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [event["place"] for event in map(json.loads, lines) if event["event"] == "began"]
    assert {place.partition("/")[0] for place in asked} == programs


def test_repairs_of_the_small_models_own_code() -> None:
    lines = (ROOT / "spsbench/static/repairs.jsonl").read_text().splitlines()
    ends = [(repair["after"], repair["replies"]) for repair in map(json.loads, lines)]
    failed, late = ends.count(("exit code 1", 4)), ends.count(("no reply within 600 s", None))
    page = " ".join((ROOT / "spsbench/docs/spsbench.md").read_text(encoding="utf-8").split())
    assert f"In [{failed + late} programs](../static/repairs.jsonl)" in page
    assert f"None passed: in {failed}, four replies failed too, and in {late}, a reply took" in page
    assert len(ends) == failed + late


def read_rows(page: str, heading: str) -> list[tuple[str, ...]]:
    """Return the rows of the table of a page whose first line starts with `heading`."""
    table = page.partition(f"\n{heading}")[2].partition("\n\n")[0]
    return [
        tuple(cell.strip(" `") for cell in row.strip("|").split("|"))
        for row in table.splitlines()[2:]
    ]


def read_repairs(path: Path) -> list[RepairResult]:
    return list(read_results_file(path, REPAIR_KINDS).select(RepairResult))


TRAINING = ROOT / "spsbench/results/training"
TRAINED_ON = {"humanevalfix": "HumanEvalFix", "mutants": "mutants", "quixbugs": "QuixBugs"}


def read_training() -> dict[tuple[str, str, int], dict[str, list[bool]]]:
    """Return the passes of each problem by data, condition and turn."""
    lines = (TRAINING / "qwen2.5-coder-1.5b.jsonl").read_text("utf-8").splitlines()
    problems = [line for line in map(json.loads, lines) if line["kind"] == "problem"]
    return {
        key: {
            each["problem"]: [number < each["passed"] for number in range(each["samples"])]
            for each in found
        }
        for key, found in group_by(
            problems, lambda each: (each["group"], each["condition"], each["turn"])
        ).items()
    }


def list_training_rows() -> list[tuple[str, ...]]:
    passes, rows = read_training(), []
    for group, data in TRAINED_ON.items():
        for condition in ("trace", "test"):
            untrained, first, second = (passes[group, condition, turn] for turn in range(3))
            change = compare_rates(second, untrained)
            assert change is not None
            rates = (f"{estimate_rate(each).rate:.3f}" for each in (untrained, first, second))
            lead = " (".join(format_difference(change)[1:3]) + ")"
            rows.append((data, condition, str(len(untrained)), *rates, lead))
    return rows


def test_the_turns_of_training() -> None:
    page = (ROOT / "spsbench/docs/repair.md").read_text(encoding="utf-8")
    assert read_rows(page, "| data | condition | problems |") == list_training_rows()


def test_the_page_of_prediction_has_the_figures_of_the_training() -> None:
    text = " ".join((ROOT / "spsbench/docs/prediction.md").read_text(encoding="utf-8").split())
    passes = read_training()
    traced, plain, traced_after, plain_after = (
        f"{fmean(map(fmean, passes['humanevalfix', condition, turn].values())):.2f}"
        for turn in (0, 2)
        for condition in ("trace", "test")
    )
    assert f"Of repairs of HumanEvalFix, {traced} passed with traces, and {plain} without;" in text
    assert f"as in NExT, {traced_after} and {plain_after}." in text


def test_training_without_traces_on_two_cores() -> None:
    repairs = read_repairs(TRAINING / "humanevalfix-test-turn1-qwen2.5-coder-1.5b.jsonl")
    passes = group_passes(repairs, lambda repair: repair.problem)
    untrained = fmean(
        fmean(found)
        for name, found in read_training()["humanevalfix", "test", 0].items()
        if name in passes
    )
    page = (ROOT / "spsbench/docs/repair.md").read_text(encoding="utf-8")
    text = " ".join(page.split())
    estimate = estimate_rate(passes)
    assert (
        f"{sum(repair.passed for repair in repairs)} of {len(passes)} problems of HumanEvalFix, drawn with seed 0, passed "
        f"at the first attempt, {estimate.rate:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"
    ) in text
    assert f"it passed {untrained:.2f} of the same problems without traces" in text
