"""What a run writes down, and how it is read back: also after a kill, and never where it is damaged."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import report_sample

from njrt.values.dataclass_json import to_json
from spsbench.failures import FailureCategory
from spsbench.flags import list_names
from spsbench.journal import Journal
from spsbench.methods import METHODS
from spsbench.report.data import ReportData, collect_data
from spsbench.results import (
    Failure,
    InputError,
    Results,
    TrialLimits,
    TrialResult,
    read_results,
)
from spsbench.suite import digest_program
from spsbench.trials.executing import list_trials, refuse_other_programs
from spsbench.trials.experiment import list_remaining_jobs, refuse_other_settings
from spsbench.trials.playing import Job
from spsbench.trials.progress import RunProgress, format_time_left

SAMPLE = Path(__file__).parents[1] / "cases" / "spsbench" / "results.jsonl"

RUN = dataclasses.replace(report_sample.RUN, model="openai/gpt-4.1")


def result(repeat: int = 1, **parts: Any) -> TrialResult:
    made = dataclasses.replace(
        report_sample.result("menu", "direct", repeat, passed=1, checks=2, seconds=3.0),
        model="openai/gpt-4.1",
        cost=0.01,
        failure=Failure("wrong result", "not so"),
    )
    return dataclasses.replace(made, **parts)


def lines(*entries: object) -> list[str]:
    return [to_json(entry) + "\n" for entry in entries]


def test_what_is_written_is_read_back() -> None:
    second = result(2, cost=None, failure=None)
    read = read_results(lines(RUN, result(), second))
    assert (read.runs, read.results) == ((RUN,), (result(), second))
    assert (read.remarks, read.spent) == ((), 0.01)
    assert result().share == 0.5


def test_a_last_line_that_was_cut_off_is_left_out_with_a_remark() -> None:
    whole = lines(RUN, result(), result(2))
    for cut in range(1, len(whole[2])):
        read = read_results([*whole[:2], whole[2][:cut]])
        if cut < len(whole[2]) - 1:
            assert read.results == (result(),)
            assert read.remarks == ("line 3, the last, was cut off and is left out",)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ('{"kind": "tea"}', "Input tag 'tea'"),
        ('{"program": "menu"}', "'kind'"),
        ('{"kind": "trial", "program": "menu"}', "trial.method: Field required"),
        (to_json(result()).replace('"finished"', '"well"'), "trial.ending: Input should be"),
        (to_json(result(checks={})), "trial.checks: Dictionary should have at least 1 item"),
        (
            to_json(result()).replace('"repeat": 1', '"repeat": "one"'),
            "trial.repeat: Input should be a valid integer",
        ),
    ],
)
def test_a_damaged_line_is_named(line: str, reason: str) -> None:
    with pytest.raises(InputError, match="line 2 of the results is damaged") as caught:
        read_results([*lines(RUN), line + "\n", *lines(result())])
    assert reason in str(caught.value)


def test_of_a_trial_that_was_run_again_the_last_line_counts_and_all_money() -> None:
    cut_off = result(ending="cost limit")
    read = read_results(lines(RUN, cut_off, result()))
    assert read.results == (result(),)
    assert read.spent == 0.02
    jobs = [Job(result().trial), Job(result(2).trial)]
    assert list_remaining_jobs(jobs, Results((cut_off,))) == jobs
    assert list_remaining_jobs(jobs, Results((result(),))) == jobs[1:]
    failed = result(failure=Failure("server", "down"))
    assert list_remaining_jobs(jobs, Results((failed,))) == jobs


def test_all_trials_come_once_before_any_comes_again() -> None:
    trials = list_trials(("menu", "graph"), ("direct", "manual"), "m", 2)
    assert [(trial.program, trial.method, trial.repeat) for trial in trials] == [
        ("menu", "direct", 1),
        ("menu", "manual", 1),
        ("graph", "direct", 1),
        ("graph", "manual", 1),
        ("menu", "direct", 2),
        ("menu", "manual", 2),
        ("graph", "direct", 2),
        ("graph", "manual", 2),
    ]


@pytest.mark.parametrize(
    ("model", "limits", "temperature", "told"),
    [
        ("openai/gpt-5", TrialLimits(), None, "model openai/gpt-4.1, not openai/gpt-5"),
        ("openai/gpt-4.1", TrialLimits(seconds=5), None, "seconds 1000.0, not 5"),
        ("openai/gpt-4.1", TrialLimits(calls=5), None, "max-calls 300, not 5"),
        ("openai/gpt-4.1", TrialLimits(), 0.0, "temperature None, not 0.0"),
    ],
)
def test_other_conditions_are_refused(
    model: str, limits: TrialLimits, temperature: float | None, told: str
) -> None:
    read = read_results(lines(RUN))
    compared = ("model", "limits", "temperature")
    refuse_other_settings(read, RUN, compared, "trials")
    run = dataclasses.replace(RUN, model=model, limits=limits, temperature=temperature)
    with pytest.raises(InputError) as caught:
        refuse_other_settings(read, run, compared, "trials")
    assert told in str(caught.value)


@pytest.mark.parametrize("digest", ["", "0123456789abcdef"])
def test_trials_of_another_version_of_a_program_are_not_continued(digest: str) -> None:
    now = digest_program("menu", "natural.njpy")
    refuse_other_programs(read_results(lines(RUN, result(digest=now))))
    mixed = read_results(lines(RUN, result(digest=now), result(2, digest=digest)))
    with pytest.raises(InputError, match=r"another version of menu/natural\.njpy"):
        refuse_other_programs(mixed)


def test_results_of_two_versions_of_a_program_are_not_reported_together() -> None:
    one, other = [RUN, result(digest="1")], [RUN, result(2, digest="2")]
    manual = [RUN, result(method="manual", digest="2")]

    def collect(**files: Sequence[Any]) -> ReportData:
        return collect_data({name: Results(tuple(each)) for name, each in files.items()})

    assert len(collect(a=one, b=manual).trials) == 1
    with pytest.raises(InputError, match=r"a and b: results of two versions of menu/"):
        collect(a=one, b=other)
    with pytest.raises(InputError, match=r"^a: results of two versions"):
        collect(a=[*one, *other])


def test_the_digest_covers_program_and_checks() -> None:
    digests = {
        digest_program(name, file)
        for name in ("menu", "battle", "gsm8k")
        for file in ("natural.njpy", "rewritten.njpy", "manual.py")
    }
    assert len(digests) == 8  # gsm8k has no rewritten program
    assert digest_program("gsm8k", "rewritten.njpy") == digest_program("gsm8k", "natural.njpy")


def test_a_journal_goes_on_after_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.jsonl"
    with Journal(path) as journal:
        journal.append(RUN)
        journal.append(result())
    path.write_text(path.read_text() + to_json(result(2))[:50])
    with Journal(path) as journal:
        assert journal.read().results == (result(),)
        journal.append(result(3))
    assert path.read_text() == "".join(lines(RUN, result(), result(3)))


def test_only_one_runner_has_a_file_open(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "results.jsonl"),
        pytest.raises(InputError, match="wait for it, or name another"),
        Journal(tmp_path / "results.jsonl"),
    ):
        pass
    with Journal(tmp_path / "results.jsonl") as journal:
        journal.append(RUN)


def test_a_damaged_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text("tea\n" + to_json(RUN))
    with pytest.raises(InputError), Journal(path):
        pass
    assert path.read_text() == "tea\n" + to_json(RUN)


def test_a_line_says_how_far_a_run_is(capsys: pytest.CaptureFixture[str]) -> None:
    progress = RunProgress(1, 10)
    progress.show(result())
    assert re.fullmatch(
        r"\[ 2/10\] menu direct 1: 1/2 checks, 3\.0 s, \$0\.0100 "
        r"\(wrong result: not so, about 0 s left\)\n",
        capsys.readouterr().err,
    )
    progress = RunProgress(3, 4)
    progress.show(result())
    assert capsys.readouterr().err.endswith("(wrong result: not so)\n")


@pytest.mark.parametrize(("seconds", "words"), [(12.4, "12 s"), (600, "10 min"), (20_000, "5.6 h")])
def test_times_are_told_as_people_say_them(seconds: float, words: str) -> None:
    assert format_time_left(seconds) == words


def test_the_methods_are_those_of_the_tables() -> None:
    known = tuple(METHODS)
    assert list_names("all", known, "method") == known
    assert list_names(" direct , manual,", known, "method") == ("manual", "direct")
    with pytest.raises(click.UsageError, match="no method `sttic`; did you mean `static`"):
        list_names("sttic", known, "method")
    assert all(
        (method.file == "manual.py") == ("manual" in name) for name, method in METHODS.items()
    )


def test_the_sample_for_other_tests_is_a_real_scripted_run() -> None:
    read = read_results(SAMPLE.read_text().splitlines(keepends=True))
    assert {run.model for run in read.runs} == {"scripted"}
    assert {result.failure.category for result in read.results if result.failure} <= set(
        get_args(FailureCategory)
    )
    assert shares(read.results, "direct") == [1.0] * len(shares(read.results, "direct"))


def shares(results: Sequence[TrialResult], method: str) -> list[float]:
    return [result.share for result in results if result.trial.method == method]


def test_lines_are_plain_json() -> None:
    (line,) = lines(result())
    assert json.loads(line)["program"] == "menu"
