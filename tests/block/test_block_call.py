"""The record of a block's call: made once for each place, from arguments that are told apart by type."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import njrt
from njrt.block.session.block_call import NO_INTERFACE, read_arguments
from njrt.testing import run


def read(**arguments: Any) -> Any:
    return read_arguments("a.njpy:1", False, lambda: (), arguments)


def test_the_arguments_of_a_run_are_not_part_of_the_record() -> None:
    class Mark(dict[str, Any]):
        """A namespace that can be watched."""

    namespace = Mark()
    alive = weakref.ref(namespace)
    call, of_run = read(ns=namespace, types=dict, interface=None)
    assert of_run.ns is namespace
    assert (of_run.types, of_run.interface) == (dict, None)
    plain, of_other = read()
    assert plain is call
    assert of_other.interface is NO_INTERFACE
    del namespace, of_run
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(("name", "says"), [("effects", True), ("model", False)])
def test_options_that_set_the_effects_are_noted(name: str, says: bool) -> None:
    assert read(**{name: "direct"})[0].sets_effects is says
    assert read(project={name: "direct"})[0].sets_effects is says


def block(**arguments: Any) -> int:
    y = 0
    with njrt.using(model=njrt.Scripted([run("y = 1", done=True)])):
        njrt.run("natural: Put 1 into <:y>.", lambda: (y,), writes="y", at="q:1", **arguments)
    return y


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"write": "y"}, "q:1: unknown option `write`"),
        ({"write": ["y"]}, "q:1: unknown option `write`"),
        ({"max_calls": 0}, "q:1: option `max_calls` must be a whole number from 1, not 0"),
        ({"max_calls": True}, "q:1: option `max_calls` must be a whole number from 1, not True"),
        ({"max_calls": [1]}, r"q:1: option `max_calls` must be a whole number from 1, not \[1\]"),
        ({"project": {"max_cals": 1}}, "did you mean `max_calls`"),
        ({"project": {"model": {}}}, "option `model` must be a string"),
        ({"tenant": "acme"}, "q:1: `tenant` was removed in njc 0.3"),
        ({"interface": None}, "q:1: interface= takes an njrt.Interface, not NoneType"),
    ],
)
def test_a_wrong_argument_is_an_error_with_the_place_each_time(
    arguments: dict[str, Any], problem: str
) -> None:
    for _ in range(2):
        assert block(max_calls=1) == 1
        with pytest.raises(njrt.ConfigurationError, match=problem):
            block(**arguments)
    assert block(max_calls=1) == 1
