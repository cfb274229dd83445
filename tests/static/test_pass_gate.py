"""`njc compare --gate`: the estimate of pass^k, its interval, and the exit status."""

from __future__ import annotations

import itertools
import sys

import pytest
from studio import Studio

from njc.evaluation.comparison.results import (
    ComparedRun,
    ModeBuild,
    ModeSummary,
    ModeUsage,
    check_gates,
    estimate_pass_power,
    parse_gate,
)
from njrt.errors import ConfigurationError

FLAKY = "import pathlib, shop, sys; f = pathlib.Path({file!r}); n = len(f.read_text()) if f.exists() else 0; f.write_text('x' * (n + 1)); sys.exit(n % 3 == 2)"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("pass^3>=0.9", (None, 3, 0.9)),
        ("pass >= 1", (None, 1, 1.0)),
        ("live:pass^2>=50%", ("live", 2, 0.5)),
    ],
)
def test_gates_are_read(text: str, read: tuple[str | None, int, float]) -> None:
    gate = parse_gate(text)
    assert (gate.name, gate.power, gate.threshold) == read


@pytest.mark.parametrize(
    "text", ["", "pass^3", "pass^0>=0.5", "pass^3>0.9", "pass^3>=1.5", "fail>=0.5", "pass^3>=0.9.1"]
)
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a gate"):
        parse_gate(text)


@pytest.mark.parametrize(("runs", "power"), [(5, 3), (6, 2), (4, 1), (3, 3)])
def test_the_estimate_is_the_share_of_choices_of_runs_that_all_pass(runs: int, power: int) -> None:
    for passed in range(runs + 1):
        chosen = list(itertools.combinations([True] * passed + [False] * (runs - passed), power))
        assert estimate_pass_power(passed, runs, power) == sum(map(all, chosen)) / len(chosen)


def test_a_mode_that_was_not_built_does_not_hold() -> None:
    run = ComparedRun("live", 1, True, 0, 1.0)
    rows = [
        ModeSummary("live", ModeBuild(0, ModeUsage()), (run, run)),
        ModeSummary("static", ModeBuild(0, ModeUsage(), "no code"), ()),
    ]
    assert [result.holds for result in check_gates([parse_gate("pass^2>=0.9")], rows)] == [
        True,
        False,
    ]
    assert [result.holds for result in check_gates([parse_gate("live:pass>=0.9")], rows)] == [True]


def test_the_gate_decides_the_exit_status(studio: Studio) -> None:
    studio.write({"shop.njpy": "total = 0\n"})
    program = FLAKY.format(file=str(studio.folder / "count"))
    arguments = ("--modes", "live", "-n", "6", "shop.njpy", "--", sys.executable, "-c", program)
    held = studio.njc("compare", "--gate", "pass^2>=0.4", *arguments)
    assert held.exit_code == 0, held.output
    assert "live: pass^2 >= 0.4 holds: 0.400 (95 % interval 0.090 to 0.816)" in held.stdout
    failed = studio.njc("compare", "--gate", "live:pass^3>=0.5", *arguments)
    assert failed.exit_code == 1
    assert "live: pass^3 >= 0.5 does not hold: 0.200" in failed.stdout


@pytest.mark.parametrize(
    ("gate", "message"),
    [("pass^4>=0.5", "pass^4 needs 4 runs: -n 4"), ("static:pass>=0.5", "which is not compared")],
)
def test_gates_that_cannot_be_checked_are_refused(studio: Studio, gate: str, message: str) -> None:
    studio.write({"shop.njpy": "total = 0\n"})
    arguments = ("--modes", "live", "--gate", gate, "shop.njpy", "--", sys.executable, "-c", "")
    result = studio.njc("compare", *arguments)
    assert result.exit_code == 2
    assert message in result.output
