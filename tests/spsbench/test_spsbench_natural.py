"""Each natural program passes its checks under scripted effects, in every effect set that can say them."""

from __future__ import annotations

import functools

import pytest

import njrt
from njrt.options import EffectSet
from spsbench.checks import check_case
from spsbench.perfect import perfect
from spsbench.script import Lines
from spsbench.suite import NAMES, natural_of, script_of, task_of
from spsbench.task import Case

natural = functools.cache(natural_of)

WITHOUT_STATEMENTS = {"enemy", "get_enemy", "stores", "stream_generator"}
WITHOUT_PYTHON = WITHOUT_STATEMENTS | {
    "calendar",
    "character_builder",
    "coffeeshop",
    "pos_tagging",
}
UNSAYABLE: dict[EffectSet, set[str]] = {
    "direct": set(),
    "nightjar": set(),
    "shared-python": set(),
    "shared-eval": WITHOUT_STATEMENTS,
    "isolated-eval": WITHOUT_PYTHON,
    "baseline": WITHOUT_PYTHON,
}


def failures(
    name: str, case: Case, lines: Lines, effects: EffectSet = "direct"
) -> dict[str, str | None]:
    """Play a case of the natural program by a script: the failed checks and what was raised, if anything."""
    model = perfect(lines, effects)
    with njrt.using(model=model, effects=effects):
        results = check_case(case, natural(name))
    assert len(results) == len(case.checks)
    failed = {result.check: result.error for result in results if not result.passed}
    if not any(failed.values()):
        assert sum(request.turn == 1 for request in model.requests) == len(lines.code)
    return failed


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("effects", UNSAYABLE)
def test_a_perfect_model_passes_every_check_that_it_can_say(effects: EffectSet, name: str) -> None:
    lines = script_of(name).lines
    raised = {
        error
        for case in task_of(name).cases
        for error in failures(name, case, lines[case.name], effects).values()
    }
    assert (raised != set()) == (name in UNSAYABLE[effects])
    assert all(error is not None and error.startswith("UnsayableError") for error in raised)


@pytest.mark.parametrize("name", NAMES)
def test_a_slip_fails_exactly_the_checks_that_it_should(name: str) -> None:
    slip = script_of(name).slip
    (case,) = (case for case in task_of(name).cases if case.name == slip.case)
    failed = failures(name, case, slip.lines)
    assert set(failed) == set(slip.fails)
    assert set(failed.values()) == {None}


@pytest.mark.parametrize("name", NAMES)
def test_one_call_a_block_is_enough_in_the_direct_effects(name: str) -> None:
    lines = script_of(name).lines
    for case in task_of(name).cases:
        model = perfect(lines[case.name])
        with njrt.using(model=model):
            check_case(case, natural(name))
        assert len(model.requests) == len(lines[case.name].code)
