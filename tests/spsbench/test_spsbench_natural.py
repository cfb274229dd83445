"""Each program passes its checks under perfect scripts, natural ones in each effect set that can say them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import njrt
from njrt.data.options import Policy
from njrt.testing import Scripted
from paper_model import make_perfect_model
from spsbench.interfaces import EffectSet, make_settings
from spsbench.llm import use_model
from spsbench.script import CaseScript, make_manual_replies
from spsbench.suite import (
    REWRITTEN_TASK_NAMES,
    TASK_NAMES,
    load_manual_program,
    load_natural_program,
    load_script,
    load_task,
    make_program_module,
)
from spsbench.task import Case, ProgramFile, check_case

natural = functools.cache(load_natural_program)


def test_annotations_of_programs_are_evaluated() -> None:
    """The programs are not compiled with the `__future__` imports of the module that loads them."""
    module = make_program_module("spsbench_annotated", b"def f(x: int): ...\n", "f.py")
    assert module.f.__annotations__ == {"x": int}


WITHOUT_STATEMENTS = {"enemy", "get_enemy", "stores", "stream_generator"}
WITHOUT_PYTHON = WITHOUT_STATEMENTS | {"calendar", "character_builder", "coffeeshop", "pos_tagging"}
UNSAYABLE: dict[EffectSet, set[str]] = {
    "direct": set(),
    "nightjar": set(),
    "shared-python": set(),
    "shared-eval": WITHOUT_STATEMENTS,
    "isolated-eval": WITHOUT_PYTHON,
    "baseline": WITHOUT_PYTHON,
}


OUTLIVING = {"enemy", "get_enemy", "pos_tagging", "stores", "stream_generator"}
"""Programs whose blocks make functions, classes or generators that outlive them, which contained code cannot."""


def failures(
    name: str,
    case: Case,
    lines: CaseScript,
    effects: EffectSet = "direct",
    file: ProgramFile = "natural.njpy",
    policy: Policy = "guarded",
) -> dict[str, str | None]:
    """Play a case of the natural program by a script: the failed checks and what was raised, if anything."""
    model = make_perfect_model(lines, effects)
    with njrt.using(model=model, **make_settings(effects), policy=policy):
        results = check_case(case, natural(name, file=file))
    assert len(results) == len(case.checks)
    failed = {result.check: result.error for result in results if not result.passed}
    if not any(failed.values()):
        assert sum(request.turn == 1 for request in model.requests) == len(lines.code)
    return failed


@pytest.mark.parametrize("name", TASK_NAMES)
@pytest.mark.parametrize("effects", UNSAYABLE)
def test_a_perfect_model_passes_every_check_that_it_can_say(effects: EffectSet, name: str) -> None:
    lines = load_script(name).lines
    raised = {
        error
        for case in load_task(name).cases
        for error in failures(name, case, lines[case.name], effects).values()
    }
    assert (raised != set()) == (name in UNSAYABLE[effects])
    assert all(error is not None and error.startswith("UnsupportedCodeError") for error in raised)


@pytest.mark.parametrize("name", REWRITTEN_TASK_NAMES)
def test_a_rewritten_program_passes_with_its_own_script(name: str) -> None:
    script = load_script(name, "rewritten.njpy")
    for case in load_task(name).cases:
        assert failures(name, case, script.lines[case.name], file="rewritten.njpy") == {}
        if case.name == script.slip.case:
            failed = failures(name, case, script.slip.lines, file="rewritten.njpy")
            assert set(failed) == set(script.slip.fails)


def manual_failures(name: str, case: Case, lines: CaseScript) -> dict[str, str | None]:
    """Play a case of the manual program by a script: the failed checks, and that all lines were said."""
    model = Scripted(make_manual_replies(lines))
    with use_model(model):
        results = check_case(case, load_manual_program(name))
    assert (len(model.requests), len(results)) == (len(lines.answers), len(case.checks))
    return {result.check: result.error for result in results if not result.passed}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_perfect_model_passes_every_check_of_a_manual_program_and_a_silent_one_none(
    name: str,
) -> None:
    script = load_script(name)
    for case in load_task(name).cases:
        assert manual_failures(name, case, script.lines[case.name]) == {}
        with use_model(Scripted([])):
            results = check_case(case, load_manual_program(name))
        assert not any(result.passed for result in results)


@pytest.mark.parametrize("play", [failures, manual_failures])
@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_slip_fails_exactly_the_checks_that_it_should(
    name: str, play: Callable[[str, Case, CaseScript], dict[str, str | None]]
) -> None:
    slip = load_script(name).slip
    (case,) = (case for case in load_task(name).cases if case.name == slip.case)
    failed = play(name, case, slip.lines)
    assert set(failed) == set(slip.fails)
    assert set(failed.values()) == {None}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_one_call_a_block_is_enough_in_the_direct_effects(name: str) -> None:
    lines = load_script(name).lines
    for case in load_task(name).cases:
        model = make_perfect_model(lines[case.name])
        with njrt.using(model=model, effects="direct", policy="guarded"):
            check_case(case, natural(name))
        assert len(model.requests) == len(lines[case.name].code)


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("name", TASK_NAMES)
def test_contained_programs_pass_every_check_or_say_why_not(name: str) -> None:
    lines = load_script(name).lines
    found = [
        failures(name, case, lines[case.name], policy="contained") for case in load_task(name).cases
    ]
    assert any(found) == (name in OUTLIVING)
    errors = {error or "" for failed in found for error in failed.values()}
    reasons = (
        "of contained code ends with it",
        "that the code made cannot be handed",
        "cannot derive",
        "is a function, a class or an iterator",
    )
    assert all(any(reason in error for reason in reasons) for error in errors)
