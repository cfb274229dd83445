"""Every way to run the code of a block is contained under `policy="contained"`.

A function that the program would keep shows where the code ran: it ends with its process.
"""

from __future__ import annotations

import asyncio
import json
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playing import carry_out
from programs import load

import njrt
from case_programs import read_program
from njrt.testing import call, run
from spsbench.interfaces import make_settings

pytestmark = pytest.mark.usefixtures("contained")

KEEP = "kept.append(lambda: 1)"
BLOCK = read_program("contained_blocks")
WAYS: dict[str, Callable[[Any], Any]] = {
    "function": lambda program: program["plain"](),
    "coroutine": lambda program: asyncio.run(program["waiting"]()),
    "generator": lambda program: list(program["generating"]()),
    "method": lambda program: program["Box"]().method(),
    "property": lambda program: program["Box"]().value,
    "loop": lambda program: program["in_a_loop"](),
    "f-string": lambda program: program["in_text"]("it"),
}


def list_results() -> list[str]:
    """Return what the model was told of each piece of its code in the last run."""
    account = njrt.last_run()
    assert account is not None
    return [effect.result for effect in account.effects]


def check_was_contained() -> None:
    assert "of contained code ends with it" in list_results()[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", [{}, {"policy": "contained"}])
def test_blocks_are_contained(way: str, given: dict[str, Any], tmp_path: Path) -> None:
    program = load(BLOCK, tmp_path)
    model = njrt.Scripted([run(KEEP), run("pass", done=True)])
    with njrt.using(model=model, **given):
        WAYS[way](program)
    check_was_contained()


@pytest.mark.parametrize(
    ("effects", "reply"),
    [
        ("nightjar", call("exec", code=KEEP)),
        ("nightjar", call("eval", expression=KEEP)),
        ("shared-python", call("exec", code=KEEP)),
        ("shared-eval", call("eval", expression=KEEP)),
    ],
)
def test_every_effect_set_is_contained(effects: str, reply: Any, tmp_path: Path) -> None:
    program = load(BLOCK, tmp_path)
    model = njrt.Scripted([reply, call("done")])
    with njrt.using(model=model, policy="contained", **make_settings(effects)):
        program["plain"]()
    check_was_contained()


def test_a_block_that_the_code_calls_is_contained(tmp_path: Path) -> None:
    program = load(BLOCK + "\ndef outer():\n    '''natural\n    Call <plain>.\n    '''\n", tmp_path)
    model = njrt.Scripted([run("plain()", done=True), run(KEEP), run("kept.append(2)", done=True)])
    with njrt.using(model=model, policy="contained"), njrt.watch() as watch:
        program["outer"]()
    inner = next(one for one in watch.runs if len(one.effects) == 2)
    assert "of contained code ends with it" in inner.effects[0].result


@pytest.mark.parametrize("annotation", ["Callable[[], int]", "Iterator[int]", "type[int]"])
def test_an_output_that_outlives_its_code_is_refused_before_the_model_is_asked(
    annotation: str, tmp_path: Path
) -> None:
    program = load(
        f"""
        from collections.abc import Callable, Iterator
        def make():
            '''natural
            Define <:made: {annotation}>.
            '''
            return made
        """,
        tmp_path,
    )
    model = njrt.Scripted([])
    with (
        njrt.using(model=model, policy="contained"),
        pytest.raises(njrt.PolicyError, match="`made`"),
    ):
        program["make"]()
    assert not model.requests


@pytest.mark.parametrize(
    "store",
    ["alias.changed = 1", "setattr(alias, 'changed', 1)", "del alias.changed"],
)
def test_nothing_is_changed_of_the_library_through_an_alias(store: str) -> None:
    assert carry_out(store, "contained", alias=typing.Annotated[json.JSONEncoder, 1]) != ""
    assert not hasattr(json.JSONEncoder, "changed")


USES = """
import os.path
import threading
import urllib.parse

class Bank:
    def __init__(self):
        self.lock, self.sums = threading.Lock(), {"ada": 10}

    def add(self, name: str, amount: int) -> None:
        with self.lock:
            self.sums[name] += amount

def it(bank: Bank, seen: list[str]):
    '''natural
    Append to <seen> the <os.path.basename> of "/a/b c", after <urllib.parse.quote>, and add to
    <bank>.
    '''
"""


def test_parts_of_submodules_and_methods_that_hold_a_lock_can_be_called(tmp_path: Path) -> None:
    program, seen = load(USES, tmp_path), list[str]()
    bank = program["Bank"]()
    code = "seen.append(os.path.basename(urllib.parse.quote('/a/b c')))\nbank.add('ada', 5)"
    with njrt.using(model=njrt.Scripted([run(code, done=True)]), policy="contained"):
        program["it"](bank, seen)
    assert (seen, bank.sums) == (["b%20c"], {"ada": 15})


def test_another_part_of_a_submodule_is_not_there(tmp_path: Path) -> None:
    program, seen = load(USES, tmp_path), list[str]()
    code = "seen.append(os.path.getsize('/'))"
    model = njrt.Scripted([run(code), run("os.getcwd()"), run("1", done=True)])
    with njrt.using(model=model, policy="contained"):
        program["it"](program["Bank"](), seen)
    for result, name in zip(list_results(), ("getsize", "getcwd"), strict=False):
        assert f"the prompt does not name `{name}` of this module" in result
