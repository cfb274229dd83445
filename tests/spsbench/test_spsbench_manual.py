"""Each manual program passes its own checks under its perfect script, and fails by its slip as planned."""

from __future__ import annotations

import pytest

from njrt.models.scripted import Scripted
from spsbench.checks import Score, check_case
from spsbench.llm import answered_by
from spsbench.script import Lines, said_to_manual
from spsbench.suite import NAMES, manual_of, script_of, task_of
from spsbench.task import Case


def failures(name: str, case: Case, lines: Lines) -> dict[str, str | None]:
    """Play a case of the manual program by a script: the failed checks, and that all lines were said."""
    model = Scripted(said_to_manual(lines))
    with answered_by(model):
        results = check_case(case, manual_of(name))
    assert len(model.requests) == len(lines.answers)
    assert len(results) == len(case.checks)
    return {result.check: result.error for result in results if not result.passed}


@pytest.mark.parametrize("name", NAMES)
def test_a_perfect_model_passes_every_check(name: str) -> None:
    script = script_of(name)
    for case in task_of(name).cases:
        assert failures(name, case, script.lines[case.name]) == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_slip_fails_exactly_the_checks_that_it_should(name: str) -> None:
    slip = script_of(name).slip
    (case,) = (case for case in task_of(name).cases if case.name == slip.case)
    failed = failures(name, case, slip.lines)
    assert set(failed) == set(slip.fails)
    assert set(failed.values()) == {None}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_says_nothing_fails_every_check(name: str) -> None:
    for case in task_of(name).cases:
        with answered_by(Scripted([])):
            results = check_case(case, manual_of(name))
        assert Score(results).share == 0
