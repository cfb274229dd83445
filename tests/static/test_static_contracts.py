"""The asserts around a static block as the specification of its code (docs/contracts.md): tested on inputs, counterexamples fed back."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from studio import Studio

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njc.static.build import ContractTask, ContractVerdict
from njc.static.lock import read_lock
from njc.static.write import test_contract as run_contract
from njrt.models.scripted import run

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


EDITS = {
    "right": ("total = sum(int(digit) for digit in f'{n}')", "held on 200 inputs", ""),
    "wrong": (WRONG, "", "with n=0 it gives total=1, and `assert total <= n` is false"),
    "not tested": ("import time\ntotal = n // (0 * n)", "", ""),
}


@pytest.mark.parametrize(("code", "evidence", "refusal"), EDITS.values(), ids=EDITS)
def test_edited_code_is_tested(studio: Studio, code: str, evidence: str, refusal: str) -> None:
    """Its evidence in the lock is no longer that of the code before; a build with --locked changes nothing."""
    studio.built(DIGITS, RIGHT)
    studio.write({"njc.lock": studio.read("njc.lock").replace(RIGHT, code)})
    words = ("build", "program.njpy", "--mode", "static")
    before = studio.read("njc.lock")
    assert studio.njc(*words, "--locked").exit_code == 0
    assert studio.read("njc.lock") == before
    result = studio.njc(*words)
    assert (result.exit_code, refusal in result.output) == (bool(refusal), True), result.output
    assert ("the edited code of `program.njpy:digits` is refused" in result.output) == bool(refusal)
    assert read_contract(studio.folder) == evidence
    assert studio.njc("lock", "program.njpy", "--mode", "static").stdout.endswith("edited\n")


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


def record(studio: Studio, source: str, inputs: Sequence[object]) -> None:
    """Run the program live on inputs, and keep the runs of its block as examples."""
    output = compile_source(SourceFile("program.njpy", source.encode())).output
    assert output is not None
    names: dict[str, Any] = {"__name__": "program"}
    exec(output, names)
    model = njrt.Scripted(lambda request: run(RIGHT, done=True))
    with njrt.using(model=model, effects="direct", examples=studio.folder / "runs.jsonl"):
        for value in inputs:
            names["digits"](value)


def read_learned(folder: Path) -> tuple[str, str]:
    """Return the learned code and its evidence."""
    entries = read_lock(folder / "njc.lock").entries.values()
    (entry,) = (entry for entry in entries if entry.mode.endswith("-learned"))
    return entry.code.strip(), entry.contract


FITS_SMALL = "total = n if n < 10 else n - 9"
"""Right for all numbers below 20, and within the contract."""
BREAKS = "total = n if n < 10 else n + 1"


def test_learned_code_is_tested_by_the_contract(studio: Studio) -> None:
    studio.write({"program.njpy": DIGITS})
    record(studio, DIGITS, [7, 12])
    replies = [f"```python\n{code}\n```" for code in (FITS_SMALL.replace("9", "8"), BREAKS, RIGHT)]
    result = studio.njc("static", "--learn", "runs.jsonl", "program.njpy", replies=replies)
    assert result.exit_code == 0, result.output
    assert "with n=12 it gives total=13, and `assert total <= n` is false" in str(studio.asked[2])
    assert read_learned(studio.folder) == (RIGHT, "held on 202 inputs")


def test_recorded_runs_have_inputs_for_what_has_no_annotation(studio: Studio) -> None:
    program = DIGITS.replace("n: int", "n")
    studio.write({"program.njpy": program})
    record(studio, program, [7, 12, 12, 30])
    replies = [f"```python\n{code}\n```" for code in ("total = 7", BREAKS, RIGHT)]
    result = studio.njc("static", "--learn", "runs.jsonl", "program.njpy", replies=replies)
    assert result.exit_code == 0, result.output
    assert "with n=12 it gives total=13, and `assert total <= n` is false" in str(studio.asked[2])
    assert read_learned(studio.folder) == (RIGHT, "held on 3 inputs")


def test_repaired_code_has_no_evidence_of_other_code(studio: Studio) -> None:
    compiled = studio.built(DIGITS, "total = 0")
    assert read_contract(studio.folder) == "held on 200 inputs"
    test = "import program; assert program.digits(12) == 3"
    studio.write({"check.py": f"import sys; sys.path.insert(0, sys.argv[1]); {test}\n"})
    command = ("--repair", "--test", f"{sys.executable} check.py {{out}}")
    better = f"```python\n{RIGHT}\n```"
    worse = f"```python\n{BREAKS}\n```"
    arguments = ("static", "program.njpy", *command, "--mode", "static")
    result = studio.njc(*arguments, replies=[worse, better])
    assert result.exit_code == 0, result.output
    assert compiled
    (entry,) = read_lock(studio.folder / "njc.lock").entries.values()
    assert (entry.code.strip(), entry.contract) == (RIGHT, "held on 200 inputs")


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
    "never ends": (
        ContractTask((), "while n == n: pass", {"n": "int"}, (), ("n",)),
        ContractVerdict(0, "the code does not end: each run took over 2 s"),
    ),
    "an assert that raises": (
        ContractTask((), "x = {}", {"n": "int"}, (), ("x['sum'] > n",)),
        ContractVerdict(0, "with n=0 it gives x={}, and `assert x['sum'] > n` raises KeyError: 'sum'"),
    ),
    "a name that is not here": (ContractTask((), "x = n", {"n": "int"}, (), ("x < LIMIT",)), ContractVerdict()),
    "a constant": (
        ContractTask(("LIMIT = 5",), "x = 7", {"n": "int"}, (), ("x < LIMIT",)),
        ContractVerdict(0, "with n=0 it gives x=7, and `assert x < LIMIT` is false"),
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


def test_inputs_on_which_the_code_does_not_end_do_not_count() -> None:
    code = "while n > 3: pass\nx = n"
    verdict = run_contract(ContractTask((), code, {"n": "int"}, (), ("x <= 3",)))
    assert 0 < verdict.held < 200, verdict


def test_constants_of_the_program_are_read_by_the_asserts(studio: Studio) -> None:
    program = DIGITS.replace("total >= 0", "total >= LEAST")
    studio.built(f"LEAST = 0\n{program}", WRONG, RIGHT)
    assert read_contract(studio.folder) == "held on 200 inputs"


def test_the_counterexample_is_small() -> None:
    task = ContractTask((), "x = len(text) < 3", {"text": "str"}, (), ("x",))
    assert run_contract(task).refusal == "with text='000' it gives x=False, and `assert x` is false"


BOOKED = """from helper import book


def half(n: int) -> int:
    BEFORE
    \"\"\"natural
    Put into <:r: int> half of <n>, rounded down; <book> it.
    \"\"\"
    assert AFTER
    assert r <= abs(n)
    return r
"""
EFFECTS = {
    "an assert before the block": ("assert book(n)", "r < 9e9", "r = n // 2", ""),
    "an assert after it": ("assert True", "book(r)", "r = n // 2", "held on 200 inputs"),
    "the code": ("assert True", "r < 9e9", "book(n)\nr = n // 2", ""),
}


@pytest.mark.parametrize(("before", "after", "code", "evidence"), EFFECTS.values(), ids=EFFECTS)
def test_no_function_of_the_program_runs_in_a_build(
    studio: Studio,
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    after: str,
    code: str,
    evidence: str,
) -> None:
    monkeypatch.syspath_prepend(studio.folder)
    helper = "def book(n):\n    open(f'{__file__}.effects', 'a').write('booked')\n    return True\n"
    studio.write({"helper.py": helper})
    studio.built(BOOKED.replace("BEFORE", before).replace("AFTER", after), code)
    assert not (studio.folder / "helper.py.effects").exists()
    assert read_contract(studio.folder) == evidence


LIMITED = {
    "it may end": ("n: int", "if n < 0:\n        raise ValueError", "r = n", "0 <= r", ""),
    "it is changed": ("n: int", "n = max(n, 0)", "r = n", "0 <= r", ""),
    "it is checked": ("n: int", "check(n)", "r = n", "0 <= r", ""),
    "an assert": ("n: int", "assert n >= 0", "r = n", "0 <= r", "held on 200 inputs"),
    "it is converted": ("n: str", "size = int(n)", "r = n", "len(r)", ""),
    "it has no items": ("n: list[int]", "first = n[0]", "r = n", "len(r)", ""),
    "it is divided": ("n: int", "size = 1 / n", "r = n", "r", ""),
    "it is unpacked": ("n: list[int]", "a, b = n", "r = n", "len(r) == 2", ""),
    "a result is checked": ("n: int", "size = n * 2\n    check(size)", "r = n", "0 <= r", ""),
    "a block returns": (
        "n: int",
        "'''natural\n    Return if <n> is negative.\n    '''",
        "r = n",
        "0 <= r",
        "",
    ),
    "a type with items": (
        "n: int",
        "rows: list[int] = []",
        "r = abs(n)",
        "0 <= r",
        "held on 200 inputs",
    ),
    "no limit": ("n: int", "size = abs(n)", "r = n * n", "0 <= r", "held on 200 inputs"),
    "finite": ("n: float", "assert True", "r = abs(n)", "0 <= r", "held on 200 inputs"),
}


@pytest.mark.parametrize(
    ("kind", "before", "code", "after", "evidence"), LIMITED.values(), ids=LIMITED
)
def test_inputs_that_a_block_may_not_have_refuse_no_code(
    studio: Studio, kind: str, before: str, code: str, after: str, evidence: str
) -> None:
    program = f"""def check(n): ...


def half({kind}):
    {before}
    \"\"\"natural
    Put into <:r: {kind[3:]}> what <n> is.
    \"\"\"
    assert {after}
    return r
"""
    studio.built(program, *["if n < 0: return"] * ("natural" in before), code)
    *_, entry = read_lock(studio.folder / "njc.lock").entries.values()
    assert entry.contract == evidence


AROUND = {
    "a loop": ("rows: list[int]", "for n in rows:", "held on 200 inputs"),
    "two loops": ("table: dict[str, list[int]], rows: list[list[int]]", "for row in rows:\n     for n in row:", "held on 200 inputs"),
    "quoted types": ("rows: 'list[int]'", "for n in rows:", "held on 200 inputs"),
    "a quoted item": ("rows: list['int']", "for n in rows:", "held on 200 inputs"),
    "with": ("n: int", "with suppress(ValueError):", "held on 200 inputs"),
    "with a value": ("n: int", "with closing(n) as size:", ""),
    "try": ("n: int", "try:", "held on 200 inputs"),
    "if": ("n: int", "if n >= 0:", ""),
    "a condition in a loop": ("rows: list[int]", "for n in rows:\n        if n < 0: continue", ""),
    "a changed item": ("rows: list[int]", "for n in rows:\n        n = abs(n)", ""),
    "letters": ("rows: str", "for n in rows:", ""),
    "a method": ("rows: dict[int, int]", "for n in rows.values():", ""),
    "awaited": ("rows: list[int]", "async for n in rows:", ""),
}  # fmt: skip


@pytest.mark.parametrize(("parameters", "around", "evidence"), AROUND.values(), ids=AROUND)
def test_inputs_of_blocks_in_other_statements(
    studio: Studio, parameters: str, around: str, evidence: str
) -> None:
    end = "    except OSError:\n        pass\n" if around == "try:" else ""
    program = f"""from contextlib import closing, suppress


{"async " * ("async" in around)}def f({parameters}) -> None:
    {around}
        \"\"\"natural
        Put into <:r: int> the size of <n>.
        \"\"\"
        assert r >= 0
{end}"""
    studio.built(program, *["r = n"] * bool(evidence), "r = abs(n)")
    assert read_contract(studio.folder) == evidence
    assert ("with n=-1 it gives r=-1" in str(studio.asked[-1])) == bool(evidence)


def test_attributes_of_a_parameter_are_inputs(studio: Studio) -> None:
    program = """from dataclasses import dataclass


@dataclass
class Pair:
    a: int
    b: int


def double(pair: Pair) -> None:
    \"\"\"natural
    Put twice <pair.a> into <:pair.b: int>.
    \"\"\"
    assert pair.b == pair.a * 2
"""
    studio.built(program, "pair.b = pair.a", "pair.b = pair.a * 2")
    assert read_contract(studio.folder) == "held on 200 inputs"


def test_code_is_not_refused_for_a_variable_that_it_does_not_see(studio: Studio) -> None:
    program = DIGITS.replace("n: int", "n: int, limit: int").replace("total <= n", "total < limit")
    studio.built(program, RIGHT)
    assert read_contract(studio.folder) == ""


def test_a_contract_about_nan_is_tested_with_it(studio: Studio) -> None:
    program = """import math


def size(n: float) -> float:
    \"\"\"natural
    Put into <:r: float> the size of <n>.
    \"\"\"
    assert not math.isnan(r)
    return r
"""
    studio.built(program, "r = abs(n)", "r = abs(n) if n == n else 0.0")
    assert "`assert not math.isnan(r)` is false" in str(studio.asked[1])
