"""`njc eval --decide`: what probabilities are worth on the cases of a project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import njrt
from njc.commands import njc
from njc.measure.calibration import (
    compute_brier,
    compute_calibration_error,
    format_calibration,
)
from njc.measure.pass_rates import compute_sign_test
from njrt.messages import Request

SURE = [(1.0, True)] * 4
FIGURES: list[tuple[list[tuple[float, bool]], float, float]] = [
    (SURE, 0.0, 0.0),
    ([(1.0, False)], 1.0, 1.0),
    ([(0.5, True), (0.5, False)], 0.25, 0.0),
    ([(0.95, True), (0.55, False)], 0.1525, 0.3),
    ([(0.8, True), (0.8, True)], 0.04, 0.2),
]


@pytest.mark.parametrize(("answers", "brier", "distance"), FIGURES)
def test_figures(answers: list[tuple[float, bool]], brier: float, distance: float) -> None:
    assert compute_brier(answers) == pytest.approx(brier)
    assert compute_calibration_error(answers) == pytest.approx(distance)


def test_gates() -> None:
    answers = [(0.9, True), (0.9, False), (0.6, True), (0.2, False)]
    rows = [row.split() for row in format_calibration("model", answers).splitlines()[3:]]
    assert rows[0][:4] == ["0.00", "1.000", "####################", "0.500"]
    assert rows[2][1::2] == ["0.750", "0.667"]
    assert rows[-1] == ["0.99", "0.000", "-"]


@pytest.mark.parametrize(
    ("better", "worse", "p"), [(33, 22, 0.177), (1, 1, 1.0), (6, 0, 0.03125), (0, 1, 1.0)]
)
def test_the_sign_test(better: int, worse: int, p: float) -> None:
    assert compute_sign_test(better, worse) == pytest.approx(p, abs=0.001)
    assert compute_sign_test(worse, better) == compute_sign_test(better, worse)


PROGRAM = '''\
from typing import Literal


def route(mail: str) -> str:
    """natural
    Put into <:team: {kind}> the team for <mail>.
    """
    return team
'''
CASES = [
    {"inputs": {"mail": "my parcel"}, "expect": "shipping"},
    {"inputs": {"mail": "my invoice"}, "expect": "billing"},
]


def evaluate(folder: Path, model: Any, *flags: str, kind: str) -> Result:
    program, cases = folder / f"decided_{folder.name}.njpy", folder / "cases.jsonl"
    program.write_text(PROGRAM.replace("{kind}", kind))
    cases.write_text("\n".join(map(json.dumps, CASES)) + "\n")
    with njrt.using(model=njrt.Scripted(model, protocol="text")):
        return CliRunner().invoke(njc, ["eval", f"{program}:route", str(cases), *flags])


TEAMS = 'Literal["billing", "shipping"]'


def test_both_forms_are_measured(tmp_path: Path) -> None:
    def say(request: Request) -> Any:
        if request.question is None:
            return {"team": "shipping"}
        is_parcel = "parcel" in str(request.messages[0])
        return {"shipping": 0.95} if is_parcel else {"billing": 0.65, "shipping": 0.35}

    result = evaluate(tmp_path, say, "--decide", kind=TEAMS)
    assert result.exit_code == 0, result.output
    rows = [it for it in result.output.splitlines() if it.startswith("scripted, ")]
    json_row, decided = rows[:2]
    assert json_row.startswith("scripted, JSON")
    assert "1 of 2" in json_row
    assert "2 of 2" in decided
    assert "2 runs with probabilities, Brier score 0.062, expected calibration error 0.200" in (
        result.output
    )
    assert "   0.90  0.500 ##########            1.000 ####################" in result.output
    assert "scripted, decide: 2 runs passed, and 1 in JSON; in pyproject.toml:" in result.output
    assert result.output.rstrip().endswith("[tool.njc]\ndecide = true")


@pytest.mark.parametrize(
    ("kind", "reply", "says"),
    [
        (TEAMS, {"shipping": 0.9}, "keep `decide` off"),
        ("str", None, "no block decided"),
    ],
)
def test_the_line_is_printed_only_if_nothing_is_lost(
    tmp_path: Path, kind: str, reply: Any, says: str
) -> None:
    def say(request: Request) -> Any:
        is_parcel = "parcel" in str(request.messages[0])
        json_reply = {"team": "shipping" if is_parcel else "billing"}
        return json_reply if request.question is None else reply

    result = evaluate(tmp_path, say, "--decide", kind=kind)
    assert says in result.output
    assert "decide = true" not in result.output


def test_blocks_that_decide_have_figures_without_the_flag(tmp_path: Path) -> None:
    def say(request: Request) -> Any:
        assert request.question is not None
        return {"shipping": 0.8}

    with njrt.using(decide=True):
        result = evaluate(tmp_path, say, kind=TEAMS)
    assert "Brier score" in result.output
    assert ", decide" not in result.output
