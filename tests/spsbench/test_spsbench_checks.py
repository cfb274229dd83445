"""Every check counts: what raises has failed, and credit is the share of checks that hold."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from spsbench.suite import TASK_NAMES, load_script, load_task
from spsbench.task import Case, Check, CheckResult, Task, catch_exception_name, check_case


def broken(*_: Any) -> bool:
    raise LookupError("no luck")


TASK = Task(
    "sums",
    (
        Case(
            "played",
            lambda program: 3,
            (
                Check("is three", lambda seen: seen == 3),
                Check("is four", lambda seen: seen == 4),
                Check("cannot be said", broken),
                Check("is truthy, but no verdict", lambda seen: seen),
            ),
        ),
        Case("raises", broken, (Check("one", bool), Check("two", bool))),
    ),
)


def test_a_check_that_raises_has_failed_and_a_case_that_raises_fails_all_of_its_checks() -> None:
    assert tuple(
        result for case in TASK.cases for result in check_case(case, ModuleType("program"))
    ) == (
        CheckResult("played", "is three", True),
        CheckResult("played", "is four", False),
        CheckResult("played", "cannot be said", False, "LookupError: no luck"),
        CheckResult("played", "is truthy, but no verdict", False),
        CheckResult("raises", "one", False, "LookupError: no luck"),
        CheckResult("raises", "two", False, "LookupError: no luck"),
    )


def test_raised_by_names_the_exception() -> None:
    assert catch_exception_name(broken) == "LookupError"
    assert catch_exception_name(dict) is None


COUNTS = {
    "average_of_three": 3,
    "balance_parentheses": 2,
    "battle": 3,
    "calendar": 3,
    "character_builder": 4,
    "coffeeshop": 28,
    "email_classification": 8,
    "enemy": 9,
    "fact_checking": 6,
    "feed_filtering": 12,
    "filter_numbers": 3,
    "get_enemy": 6,
    "graph": 6,
    "gsm8k": 3,
    "health_data": 6,
    "mask_sensitive_info": 2,
    "menu": 4,
    "pos_tagging": 9,
    "proposer_verifier": 2,
    "sentiment": 4,
    "stores": 10,
    "stream_generator": 6,
    "task_completion": 3,
    "tiny_bookshop": 3,
    "wordle_solver": 3,
}
PYTHON = {"calendar", "enemy", "get_enemy", "pos_tagging", "stores", "stream_generator"}


@pytest.mark.parametrize("name", TASK_NAMES)
def test_a_task_is_as_large_as_the_published_one(name: str) -> None:
    task = load_task(name)
    assert task.name == name
    assert sum(len(case.checks) for case in task.cases) == COUNTS[name]
    assert task.needs_python == (name in PYTHON)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_names_are_unique_and_the_script_covers_every_case(name: str) -> None:
    task, script = load_task(name), load_script(name)
    cases = [case.name for case in task.cases]
    assert len(set(cases)) == len(cases)
    assert set(script.lines) == set(cases)
    assert script.slip.case in cases
    for case in task.cases:
        texts = [check.text for check in case.checks]
        assert len(set(texts)) == len(texts)
