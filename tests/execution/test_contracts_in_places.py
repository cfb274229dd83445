"""Contracts at every place of a program: a reply that breaks an assert goes back once, and the next one mends it.

PLACES are programs with a block and its asserts at `BLOCK`; each appends `x` to `out`. The last failure is the AssertionError of
the program, recordings replay, a jump of the code leaves the asserts out, and `python -O` evaluates none.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from programs import ended_by

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options
from njrt.testing import run
from processes import run_python

PLACES = {
    "module": "BLOCK",
    "function": "def f(): BLOCK\nf()",
    "nested": "def f():\n    def g(): BLOCK\n    g()\nf()",
    "nonlocal": "def f():\n    x = 0\n    def g():\n        nonlocal x\n        BLOCK\n    g()\nf()",
    "global": "x = 0\ndef f():\n    global x\n    BLOCK\nf()",
    "generator": "def f():\n    yield 1\n    BLOCK\n    yield 2\nlist(f())",
    "sent": "def f():\n    got = yield 1\n    BLOCK\n    yield got\ng = f()\nnext(g)\ng.send(2)",
    "coroutine": "async def f(): BLOCK\nasyncio.run(f())",
    "async generator": "async def f():\n    yield 1\n    BLOCK\n    yield 2\nasync def g(): return [n async for n in f()]\nasyncio.run(g())",
    "async for": "async def f():\n    yield 1\nasync def g():\n    async for n in f(): BLOCK\nasyncio.run(g())",
    "async with": "async def f():\n    async with asyncio.Lock(): BLOCK\nasyncio.run(f())",
    "task group": "async def f():\n    async def g(): BLOCK\n    await asyncio.create_task(g())\nasyncio.run(f())",
    "method": "class C:\n    def f(self): BLOCK\nC().f()",
    "class method": "class C:\n    @classmethod\n    def f(cls): BLOCK\nC.f()",
    "property": "class C:\n    @property\n    def f(self): BLOCK\nC().f",
    "metaclass": "class M(type):\n    def __init__(cls, *args): BLOCK\nclass C(metaclass=M): pass",
    "for": "def f():\n    for n in [1]: BLOCK\nf()",
    "for else": "def f():\n    for n in []: pass\n    else: BLOCK\nf()",
    "while": "def f():\n    n = 1\n    while n:\n        n -= 1\n        BLOCK\nf()",
    "if": "def f(n):\n    if n: pass\n    elif n == 0: BLOCK\n    else: pass\nf(0)",
    "match": "def f(n):\n    match n:\n        case [int(m)] if m: BLOCK\nf([1])",
    "with": "def f():\n    with suppress(ValueError): BLOCK\nf()",
    "try": "def f():\n    try: BLOCK\n    except ValueError: pass\nf()",
    "except": "def f():\n    try: 1 / 0\n    except ZeroDivisionError as error: BLOCK\nf()",
    "except*": "def f():\n    try: raise ExceptionGroup('g', [KeyError(1)])\n    except* KeyError as error: BLOCK\nf()",
    "try else": "def f():\n    try: pass\n    except ValueError: pass\n    else: BLOCK\nf()",
    "finally": "def f():\n    try: return 1\n    finally: BLOCK\nf()",
    "finally after an exception": "def f():\n    try: 1 / 0\n    finally: BLOCK\nwith suppress(ZeroDivisionError): f()",
    "recursion": "def f(n):\n    if n: return f(n - 1)\n    BLOCK\nf(2)",
    "type parameters": "def f(*args: int, k: int = 1, **named: str) -> None: BLOCK\nf(1, k=2, a='b')",
}  # fmt: skip
BODY = '''
limit = 3
assert limit == 3, "before"
"""natural
{}Put a number into <:x: int>.
"""
assert isinstance(x, int)
assert x > limit, "too small"
assert x < 9, f"too big: {{x}}"
out.append(x)
'''
NO_RETURN = ("except*", "finally", "finally after an exception")
LOOPS = ("for", "while", "async for")


def compile_place(place: str, prompt: str = "", authority: Any = None) -> bytes:
    """Return the compiled program of a place."""
    lines = []
    for line in PLACES[place].splitlines():
        before, found, after = line.partition("BLOCK")
        margin = " " * (len(line) - len(line.lstrip()) + 4 * bool(before.strip()))
        body = textwrap.indent(BODY.format(prompt), margin)
        lines += [f"{before.rstrip()}{body}{after}" if found else line]
    text = "import asyncio\nfrom contextlib import suppress\n" + "\n".join(lines) + "\n"
    compiled = compile_source(
        SourceFile("program.njpy", text.encode()), project=Options(authority=authority)
    )
    assert compiled.output is not None, compiled.diagnostics
    return compiled.output


def play(compiled: bytes, **options: Any) -> list[int]:
    """Run a program; return its `out`."""
    out: list[int] = []
    module = sys.modules["contract_place"] = ModuleType("contract_place")
    vars(module)["out"] = out
    with njrt.using(**options):
        exec(compile(compiled, "program.py", "exec"), vars(module))
    return out


def say(number: int, form: str) -> Any:
    return {"x": number} if form == "data" else run(f"x = {number}", done=True)


@pytest.mark.parametrize("form", ["data", "code"])
@pytest.mark.parametrize("wrong", [1, 9], ids=["small", "big"])
@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_reply_is_mended_and_replays(
    place: str, wrong: int, form: str, tmp_path: Path
) -> None:
    compiled = compile_place(place, authority=None if form == "data" else "code")
    model = njrt.Scripted([say(wrong, form), say(4, form)], protocol="text")
    recording = tmp_path / "run.jsonl"
    assert play(compiled, model=model, record=f"new:{recording}") == [4]
    assert len(model.requests) == 2
    assert ("`x > limit` (too small)", "`x < 9` (too big: 9)")[wrong > 3] in str(
        model.requests[1].messages[-1]
    )
    assert play(compiled, record=f"none:{recording}") == [4]


@pytest.mark.parametrize(("wrong", "text"), [(1, "^too small$"), (9, "^too big: 9$")])
@pytest.mark.parametrize("place", PLACES)
def test_the_last_failure_is_that_of_the_program(place: str, wrong: int, text: str) -> None:
    model = njrt.Scripted([{"x": wrong}] * 4, protocol="text")
    with pytest.raises((AssertionError, ExceptionGroup)) as raised:
        play(compile_place(place), model=model)
    error = raised.value
    if isinstance(error, ExceptionGroup):
        (error,) = error.exceptions
    assert type(error) is AssertionError
    assert error.args == (text.strip("^$"),)
    assert len(model.requests) == 4


@pytest.mark.parametrize("jump", ["break", "continue"])
@pytest.mark.parametrize("place", LOOPS)
def test_a_jump_leaves_the_asserts_out(place: str, jump: str) -> None:
    compiled = compile_place(place, "Break or continue the loop, or ", "code")
    model = njrt.Scripted(ended_by(f"x = 1\n{jump}"), protocol="text")
    assert play(compiled, model=model) == []
    model = njrt.Scripted(ended_by("x = 1", f"x = 2\n{jump}"), protocol="text")
    assert play(compiled, model=model) == []
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "place",
    [place for place in PLACES if "def f(" in PLACES[place] and "yield" not in PLACES[place]],
)
def test_a_return_or_an_exception_leaves_the_asserts_out(place: str) -> None:
    compiled = compile_place(place, "Return 1, or raise a LookupError, or ", "code")
    model = njrt.Scripted(ended_by("x = 1", "x = 1\nraise LookupError(7)"), protocol="text")
    with pytest.raises((LookupError, ExceptionGroup)):
        play(compiled, model=model)
    if place not in NO_RETURN:
        model = njrt.Scripted(ended_by("x = 1", "x = 1\nreturn 1"), protocol="text")
        assert play(compiled, model=model) == []


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("place", PLACES)
def test_contained_code_is_mended_too(place: str) -> None:
    model = njrt.Scripted(ended_by("x = 1", "x = 9", "x = 4"), protocol="text")
    compiled = compile_place(place, authority="code")
    assert play(compiled, model=model, policy="contained") == [4]
    assert len(model.requests) == 3


def test_an_optimized_program_evaluates_no_assert() -> None:
    script = "\n".join(
        (
            f"import sys; sys.path += {sys.path!r}",
            "import njrt, test_contracts_in_places as t",
            "for place in t.PLACES:",
            "    model = njrt.Scripted([{'x': 1}], protocol='text')",
            "    print(t.play(t.compile_place(place), model=model), len(model.requests))",
        )
    )
    done = run_python("-O", "-c", script, check=True)
    assert done.stdout.splitlines() == ["[1] 1"] * len(PLACES)
