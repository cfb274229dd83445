"""The asserts around a static block as the specification of its code (docs/contracts.md): tested on inputs, counterexamples fed back."""

from __future__ import annotations

from pathlib import Path

import pytest
from studio import Studio

from njc.static.build import ContractTask, ContractVerdict
from njc.static.files import test_contract as run_contract
from njc.static.lock import read_lock

DIGITS = '''\
def digits(n: int) -> int:
    assert n >= 0
    """natural
    Put the sum of the digits of <n> into <:total: int>.
    """
    assert total >= 0, "a sum of digits"
    assert total <= n
    return total
'''
WRONG = "total = sum(map(int, str(n))) + 1"
RIGHT = "total = sum(int(digit) for digit in str(n))"


def read_contract(folder: Path) -> str:
    (entry,) = read_lock(folder / "njc.lock").entries.values()
    return entry.contract


def test_a_counterexample_goes_back_to_the_model(studio: Studio) -> None:
    studio.built(DIGITS, WRONG, RIGHT)
    assert "with n=0 it gives total=1, and `assert total <= n` is false" in str(studio.asked[1])
    assert read_contract(studio.folder) == "held on 200 inputs"
    assert 'contract = "held on 200 inputs"' in studio.read("njc.lock")
    assert "proved" not in studio.read("njc.lock")


def test_a_locked_build_keeps_the_evidence(studio: Studio) -> None:
    compiled = studio.built(DIGITS, RIGHT)
    before = studio.read("njc.lock")
    result = studio.njc("build", "program.njpy", "--mode", "static", "--locked")
    assert result.exit_code == 0, result.output
    assert (studio.read("program.py"), studio.read("njc.lock")) == (compiled, before)


def test_code_that_never_holds_is_not_built(studio: Studio) -> None:
    studio.write({"program.njpy": DIGITS})
    reply = "```python\ntotal = -1\n```"
    result = studio.njc("build", "program.njpy", "--mode", "static", replies=[reply] * 9)
    assert result.exit_code == 1
    assert "with n=0 it gives total=-1, and `assert total >= 0" in result.output


UNTESTED = {
    "an input without a type": ("n: int", "n"),
    "a function": ("of <n> into", "of <n>, without <digits>, into"),
    "no asserts": ("    assert total >= 0, \"a sum of digits\"\n    assert total <= n\n", ""),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), UNTESTED.values(), ids=UNTESTED)
def test_what_is_not_tested_has_no_evidence(studio: Studio, old: str, new: str) -> None:
    studio.built(DIGITS.replace(old, new, 1), RIGHT)
    assert read_contract(studio.folder) == ""


PLACES = {
    "a coroutine": ("def digits", "async def digits"),
    "a jump": ("into <:total: int>.", "into <:total: int>, or return 0."),
    "a method": ("def digits(n", "class Sums:\n  def digits(self, n"),
}


@pytest.mark.parametrize("place", PLACES)
def test_code_is_tested_in_all_places(studio: Studio, place: str) -> None:
    old, new = PLACES[place]
    program = DIGITS.replace(old, new, 1)
    if place == "a method":
        program = program.replace("\n    ", "\n      ")
    studio.built(program, WRONG, RIGHT)
    assert "with n=0 it gives total=1, and `assert total <= n` is false" in str(studio.asked[1])
    assert read_contract(studio.folder) == "held on 200 inputs"


TASK = ContractTask((), "x = n", {"n": "int"}, (), ("x == n",))
VERDICTS = {
    "held": (TASK, ContractVerdict(200)),
    "precondition": (ContractTask((), "x = n", {"n": "int"}, ("n > 5",), ("x > 5",)), ContractVerdict(200)),
    "returns": (ContractTask((), "if n: return {'x': 1}\nx = 0", {"n": "int"}, (), ("x == 0",)), ContractVerdict(1)),
    "continues": (ContractTask((), "continue", {"n": "int"}, (), ("x <= 3",)), ContractVerdict()),
    "raises": (ContractTask((), "x = 1 // 0", {"n": "int"}, (), ("x == n",)), ContractVerdict()),
    "a class": (
        ContractTask(("from dataclasses import dataclass", "@dataclass\nclass P:\n    a: int"), "x = p.a", {"p": "P"}, (), ("x == p.a",)),
        ContractVerdict(200),
    ),
    "in place": (
        ContractTask((), "rows.sort()", {"rows": "list[int]"}, (), ("rows == sorted(rows)",)),
        ContractVerdict(200),
    ),
    "no such type": (ContractTask((), "x = n", {"n": "Missing"}, (), ("x == n",)), ContractVerdict()),
    "ends the process": (ContractTask((), "import os; os._exit(3)", {"n": "int"}, (), ("x",)), ContractVerdict()),
}  # fmt: skip


@pytest.mark.parametrize(("task", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts(task: ContractTask, verdict: ContractVerdict) -> None:
    assert run_contract(task) == verdict


def test_inputs_on_which_the_code_jumps_do_not_count() -> None:
    code = "if n > 3: break\nx = n"
    verdict = run_contract(ContractTask((), code, {"n": "int"}, (), ("x <= 3",)))
    assert 0 < verdict.held < 200, verdict


def test_the_counterexample_is_small() -> None:
    task = ContractTask((), "x = len(text) < 3", {"text": "str"}, (), ("x",))
    assert run_contract(task).refusal == "with text='000' it gives x=False, and `assert x` is false"
