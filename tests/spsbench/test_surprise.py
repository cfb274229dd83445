"""`spsbench surprise`: mistakes are planted one at a time, effects predicted one at a time, alarms counted."""

from __future__ import annotations

import ast
from dataclasses import replace
from math import log
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import njrt
from njrt.messages import Request
from openai_server import OpenAIServer, says
from spsbench.cli import main
from spsbench.results import read_results
from spsbench.suite import TASK_NAMES, load_script
from spsbench.surprise.combining import combine_alarms, compute_auc, count_hits, fit_logistic
from spsbench.surprise.playing import (
    PlantedEffect,
    PlantedMutation,
    list_mutations,
    list_planted_effects,
    play_effect,
)
from spsbench.surprise.results import SURPRISE_KINDS, EffectFacts, SurpriseResult
from spsbench.surprise.table import (
    list_alarm_rows,
    list_combined_rows,
    list_cost_rows,
    list_planted_rows,
)


def test_each_mutation_changes_one_place() -> None:
    code = "total = 3\nboxes['a'].append(True)\nif total:\n    break\ncount += total"
    assert [(found.kind, found.code.split("\n")) for found in list_mutations(code)] == [
        ("dropped statement", ["total = 3", "pass", "if total:", "    break", "count += total"]),
        (
            "dropped statement",
            ["total = 3", "boxes['a'].append(True)", "if total:", "    break", "pass"],
        ),
        (
            "wrong value",
            ["total = 4", "boxes['a'].append(True)", "if total:", "    break", "count += total"],
        ),
        (
            "dropped jump",
            ["total = 3", "boxes['a'].append(True)", "if total:", "    pass", "count += total"],
        ),
        (
            "wrong value",
            ["total = 3", "boxes['a'].append(False)", "if total:", "    break", "count += total"],
        ),
        (
            "wrong value",
            ["total = 3", "boxes['ax'].append(True)", "if total:", "    break", "count += total"],
        ),
    ]


def test_mutations_of_all_scripts_are_python_and_differ() -> None:
    pieces = [
        piece
        for name in TASK_NAMES
        for lines in load_script(name).lines.values()
        for piece in lines.code
    ]
    mutated = [(piece, found) for piece in pieces for found in list_mutations(piece)]
    assert len(mutated) > 100
    for piece, found in mutated:
        assert ast.dump(ast.parse(found.code)) != ast.dump(ast.parse(piece))


def test_effects_and_mistakes_depend_on_the_seed_alone() -> None:
    effects = list(list_planted_effects(Random(3).randrange))
    assert effects == list(list_planted_effects(Random(3).randrange))
    assert effects != list(list_planted_effects(Random(4).randrange))
    assert {effect.mutation.kind for effect in effects} == {
        "wrong value",
        "dropped statement",
        "dropped jump",
    }


AVERAGE = PlantedEffect(
    "average_of_three",
    next(iter(load_script("average_of_three").lines)),
    1,
    PlantedMutation("wrong value", "average = 99.0"),
)


def predict_average(request: Request) -> str:
    return "average = 2.0\nEND: goes on"


def test_a_right_prediction_is_an_alarm_for_the_wrong_effect_only() -> None:
    model = njrt.Scripted(predict_average, protocol="text")
    right, wrong = play_effect(AVERAGE, False, model), play_effect(AVERAGE, True, model)
    assert right is not None
    assert wrong is not None
    assert not right.prediction.problem
    assert not right.prediction.is_surprise
    assert wrong.prediction.mismatches == ("average = 99.0, predicted 2.0",)
    assert right.facts == EffectFacts("goes on", 1, len("float = 2.0"))
    assert wrong.facts == EffectFacts("goes on", 1, len("float = 99.0"))
    assert len(model.requests) == 2


def test_only_the_wanted_effect_is_predicted() -> None:
    effect = next(
        effect for effect in list_planted_effects(Random(0).randrange) if effect.piece == 2
    )
    model = njrt.Scripted(lambda request: "END: goes on", protocol="text")
    assert play_effect(effect, False, model) is not None
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        ("return 1", ("refused", 0, 0)),
        ("average = 1 / 0", ("refused", 0, 0)),
        ("raise ValueError(1)", ("raise", 0, 0)),
        ("average = extra = 12.5", ("goes on", 2, 2 * len("float = 12.5"))),
    ],
)
def test_an_effect_is_described_by_its_end_and_its_changes(
    code: str, facts: tuple[str, int, int]
) -> None:
    wrong = replace(AVERAGE, mutation=PlantedMutation("wrong value", code))
    played = play_effect(wrong, True, njrt.Scripted(predict_average, protocol="text"))
    assert played is not None
    assert played.facts == EffectFacts(*facts)


def test_areas_and_hits_count_ties_in_part() -> None:
    def area(scores: list[float], wrong: list[bool]) -> float:
        return compute_auc(np.array(scores), np.array(wrong))

    assert area([1, 2, 3, 4], [False, False, True, True]) == 1.0
    assert area([1, 1, 0, 2], [False, True, False, True]) == 3.5 / 4
    assert area([1, 2], [True, True]) == 0.5
    scores, wrong = np.array([3, 2, 2, 1]), np.array([True, True, False, True])
    assert count_hits(scores, wrong, 2) == 1.5
    assert count_hits(scores, wrong, 0) == 0


def test_a_logistic_model_has_the_odds_of_its_examples() -> None:
    examples = [(0, n < 3000) for n in range(10_000)] + [(1, n < 8000) for n in range(10_000)]
    rows = np.array([[1, feature] for feature, _ in examples])
    constant, weight = fit_logistic(rows, np.array([target for _, target in examples]))
    assert constant == pytest.approx(log(30 / 70), abs=0.01)
    assert constant + weight == pytest.approx(log(80 / 20), abs=0.01)


def combined_of(program: str, number: int, is_wrong: bool, is_surprise: bool, ending: str) -> Any:
    planted = "wrong value" if is_wrong else "none"
    facts = EffectFacts(ending, 1, 3)
    return replace(result_of(number, planted, is_surprise), program=program, facts=facts)


def test_what_holds_in_one_program_alone_is_no_alarm() -> None:
    """In each program one end of effects is that of all mistakes, but it is another one in the others."""
    results = [
        combined_of(program, n, n < 10, n % 2 == 0, "break" if (n < 10) == own else "goes on")
        for program, own in (("menu", True), ("battle", False))
        for n in range(20)
    ]
    surprise, effect, _ = combine_alarms(results, Random(0).random)
    assert surprise.auc == pytest.approx(0.5, abs=0.05)
    assert effect.auc < 0.05


def test_the_report_has_the_combined_alarms_if_effects_are_described() -> None:
    results = [
        combined_of(program, n, n < 10, n < 4, "break" if n < 9 else "goes on")
        for program in ("menu", "battle", "chess")
        for n in range(20)
    ]
    rows = list(list_combined_rows(results, Random(0).random))
    assert [row[:2] + row[4:] for row in rows] == [
        ("surprise", "0.70", "1.00", "0.40"),
        ("the effect", "0.95", "1.00", "0.40"),
        ("surprise and the effect", "0.95", "1.00", "0.40"),
    ]
    assert rows[0][3] == ""
    assert rows[1][3].startswith("+0.25, ")
    unknown = [replace(one, facts=None) for one in results]
    assert not list(list_combined_rows(unknown, Random(0).random))


def result_of(number: int, planted: str, is_surprise: bool, problem: str = "") -> SurpriseResult:
    return SurpriseResult(
        *("menu", "one", number, planted, "m"),  # type: ignore[arg-type]
        is_surprise=is_surprise,
        mismatches=(),
        problem=problem,
        input_tokens=300,
        output_tokens=20,
        seconds=2.0,
        started="2026-01-01T00:00:00Z",
    )


def test_precision_and_recall() -> None:
    results = [
        *(result_of(n, "none", n < 1) for n in range(4)),
        *(result_of(n, "wrong value", n < 3) for n in range(4)),
        result_of(9, "dropped jump", False, "the effect was refused"),
    ]
    assert list(list_planted_rows(results)) == [
        ("none", "4", "0", "1", "0.25", "0.05 to 0.70"),
        ("dropped jump", "1", "1", "0", "", ""),
        ("wrong value", "4", "0", "3", "0.75", "0.30 to 0.95"),
    ]
    assert [row[1:] for row in list_alarm_rows(results)] == [
        ("0.75", "3", "4", "0.30 to 0.95"),
        ("0.75", "3", "4", "0.30 to 0.95"),
        ("0.25", "1", "4", "0.05 to 0.70"),
    ]
    assert list(list_cost_rows(results, Random(0).random)) == [
        ("input tokens", "300", "300 to 300", "9"),
        ("output tokens", "20", "20 to 20", "9"),
        ("seconds", "2.0", "2.0 to 2.0", "9"),
    ]
    assert not list(list_cost_rows([], Random(0).random))


def test_the_command_goes_on_where_it_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [says("END: goes on")] * 9
    flags = ["surprise", "--model", "openai/local", "--sample", "2", "--out", "s.jsonl"]
    with OpenAIServer(answers, vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        result = CliRunner().invoke(main, flags)
        assert result.exit_code == 0, result.output
        asked = len(server.seen)
        lines = Path("s.jsonl").read_text().splitlines(keepends=True)
        assert len(lines) == 1 + 4
        Path("s.jsonl").write_text("".join(lines[:-1]) + lines[-1][:9])
        result = CliRunner().invoke(main, flags)
        assert result.exit_code == 0, result.output
        assert len(server.seen) <= asked + 1
    read = read_results(Path("s.jsonl").read_text().splitlines(keepends=True), SURPRISE_KINDS)
    assert (len(read.runs), len(read.results)) == (2, 4)
    assert "precision" in result.output
    report = CliRunner().invoke(main, ["surprise-report", "s.jsonl"])
    assert report.output.removeprefix("s.jsonl\n\n").strip() in result.output
    flags = ["surprise-report", "s.jsonl", "--out", "report.md"]
    assert CliRunner().invoke(main, flags).exit_code == 0
    assert CliRunner().invoke(main, [*flags, "--check"]).exit_code == 0
    drawn = "2 of 96 effects, drawn with seed 0, with its share of each kind of mistake"
    assert f"| Effects | {drawn} |" in Path("report.md").read_text()
    Path("s.jsonl").write_text("".join(lines[:-1]))
    changed = CliRunner().invoke(main, [*flags, "--check"])
    assert (changed.exit_code, "report.md differs from the results" in changed.output) == (1, True)


def test_effects_are_predicted_on_a_dask_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    answers = [says("END: goes on")] * 9
    flags = ["surprise", "--model", "openai/local", "--sample", "2", "--out", "s.jsonl"]
    with (
        OpenAIServer(answers, vendor=False, models=("local",)) as server,
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
    ):
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
        flags += ["--scheduler", cluster.scheduler_address]
        result = CliRunner().invoke(main, flags)
        assert result.exit_code == 0, result.output
        assert server.seen
    read = read_results(Path("s.jsonl").read_text().splitlines(keepends=True), SURPRISE_KINDS)
    assert len(read.results) == 4


def test_a_server_that_is_down_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with OpenAIServer([], vendor=False, models=("local",)) as server:
        monkeypatch.setenv("NJC_BASE_URL", server.base_url)
    result = CliRunner().invoke(main, ["surprise", "--model", "openai/local", "--sample", "1"])
    assert result.exit_code == 1
    assert "2 predictions are left; the same command continues with them" in result.output
