"""Each manual program passes its own checks under its perfect script, and fails by its slip as planned."""

from __future__ import annotations

import pytest

from njrt.models.scripted import Scripted
from spsbench.llm import use_model
from spsbench.script import CaseScript, make_manual_replies
from spsbench.suite import TASK_NAMES, load_manual_program, load_script, load_task
from spsbench.task import Case, check_case


def failures(name: str, case: Case, lines: CaseScript) -> dict[str, str | None]:
    """Play a case of the manual program by a script: the failed checks, and that all lines were said."""
    model = Scripted(make_manual_replies(lines))
    with use_model(model):
        results = check_case(case, load_manual_program(name))
    assert len(model.requests) == len(lines.answers)
    assert len(results) == len(case.checks)
    return {result.check: result.error for result in results if not result.passed}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_perfect_model_passes_every_check(name: str) -> None:
    script = load_script(name)
    for case in load_task(name).cases:
        assert failures(name, case, script.lines[case.name]) == {}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_slip_fails_exactly_the_checks_that_it_should(name: str) -> None:
    slip = load_script(name).slip
    (case,) = (case for case in load_task(name).cases if case.name == slip.case)
    failed = failures(name, case, slip.lines)
    assert set(failed) == set(slip.fails)
    assert set(failed.values()) == {None}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_model_that_says_nothing_fails_every_check(name: str) -> None:
    for case in load_task(name).cases:
        with use_model(Scripted([])):
            results = check_case(case, load_manual_program(name))
        assert not any(result.passed for result in results)
