"""Random snippets against CPython: a block that runs statements equals the program with those statements.

    for turn in range(3):                      for turn in range(3):
        STATEMENTS                 ==              block that runs STATEMENTS
        trace(...)                                 trace(...)

Both leave the same trace, the same bindings and the same result or exception, in functions, generators,
modules and class bodies.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playing import FailedCode, play

from njrt.data.jumps import Break, Continue, Return

EXPRESSIONS = ["a + 1", "b * 2", "t", "turn", "a - b + r", "(t := t + 1)", "sum([a, t])", "r"]
CONDITIONS = ["a % 2", "turn", "b > t", "t == 1", "not turn", "a < b"]
ERRORS = [
    "KeyError(a)",
    "ValueError",
    "KeyError(t) from None",
    "ValueError(b) from KeyError(1)",
    "",
]
CAUGHT = ["KeyError", "(KeyError, ValueError)", "Exception", "BaseException", "ZeroDivisionError"]
SIMPLE = [
    "1 / (t - t)",
    "[][a]",
    "assert t > 1",
    "del t; t = 1",
    "pass",
    "import math; t = int(math.pi)",
]
NESTED = [
    "def f():\n    nonlocal a\n    a += t\n    return a\nb = f()",
    "b = [x + a for x in range(t + 2)][-1]",
    "b = (lambda q=a: q + b)()",
    "def g():\n    raise KeyError(a)\ng()",
    "def h(n=b):\n    for i in range(3):\n        if i == t: return i\n        continue\n    return n\na = h()",
    "class K:\n    n = a\n    def m(self): return self.n + b\nb = K().m()",
    "b = sum(x for x in range(3) if x != a)",
]


@st.composite
def suites(draw: st.DrawFn, depth: int = 3, function: bool = True) -> str:
    """Return a few statements, as text."""
    return "\n".join(draw(st.lists(statements(depth, function), min_size=1, max_size=3)))


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")


@st.composite
def statements(draw: st.DrawFn, depth: int, function: bool) -> str:
    inner = suites(depth - 1, function)
    kinds = ["assign", "note", "simple", "jump", "raise"] + ["nested"] * function
    kinds += ["if", "for", "while", "try", "finally", "with", "match"] * (depth > 0)
    match draw(st.sampled_from(kinds)):
        case "assign":
            name, operator = draw(st.sampled_from("abt")), draw(st.sampled_from(["=", "+="]))
            return f"{name} {operator} {draw(st.sampled_from(EXPRESSIONS))}"
        case "note":
            return f"note({draw(st.integers(0, 99))}, a, b, t)"
        case "simple":
            return draw(st.sampled_from(SIMPLE))
        case "nested":
            return draw(st.sampled_from(NESTED))
        case "jump":
            value = f"return {draw(st.sampled_from(EXPRESSIONS))}" if function else "break"
            return draw(st.sampled_from(["break", "continue", value]))
        case "raise":
            return f"raise {draw(st.sampled_from(ERRORS))}"
        case "if":
            test = draw(st.sampled_from(CONDITIONS))
            return f"if {test}:\n{indented(draw(inner))}\nelse:\n{indented(draw(inner))}"
        case "for":
            return f"for i in range(2):\n{indented(draw(inner))}\nelse:\n{indented(draw(inner))}"
        case "while":
            # Counted by the host, since the body may set every variable of its own.
            return f"while more():\n{indented(draw(inner))}"
        case "try":
            caught = draw(st.sampled_from(CAUGHT))
            handler = f"except {caught} as e:\n    note('caught', type(e).__name__)\n{indented(draw(inner))}"
            return f"try:\n{indented(draw(inner))}\n{handler}\nelse:\n{indented(draw(inner))}"
        case "finally":
            return f"try:\n{indented(draw(inner))}\nfinally:\n    note('finally')\n{indented(draw(inner))}"
        case "with":
            swallows = draw(st.booleans())
            return f"with manager({swallows}) as w:\n{indented(draw(inner))}"
        case _:
            test = draw(st.sampled_from(CONDITIONS))
            return f"match {test}:\n    case 0 | False:\n{indented(indented(draw(inner)))}\n    case t:\n{indented(indented(draw(inner)))}"


ARMS = """\
try:
    play(lambda: ({names}), SOURCE, {more}labels="break continue{and_return}")
except Break:
    break
except Continue:
    continue
"""
RETURN_ARM = """\
except Return as jump:
    return jump.value
"""
LOOP = """\
for turn in range(3):
{block}
    note("after", turn, a, b)
else:
    note("else")
"""
FUNCTION = "def program():\n    a, b, r = 1, 2, 7\n{loop}    return a, b\nresult = program()\n"
GENERATOR = """\
def program():
    a, b, r = 1, 2, 7
    yield a
{loop}    yield b
result = list(program())
"""
MODULE = "a, b, r = 1, 2, 7\n{loop}result = a, b\n"
CLASS = "class Program:\n    a, b, r = 1, 2, 7\n{loop}result = Program.a, Program.b\n"


def outcome_of(program: str, **names: Any) -> tuple[Any, ...]:
    """Yield the trace, and the result or the exception, of a program."""
    trace: list[Any] = []
    rounds = iter(range(12))

    @contextlib.contextmanager
    def manager(swallows: bool) -> Iterator[str]:
        try:
            yield "w"
        except Exception as error:
            trace.append(("exit", type(error).__name__))
            if not swallows:
                raise
        finally:
            trace.append("exit")

    module = {
        "__name__": "host",
        "note": lambda *values: trace.append(values),
        "more": lambda: next(rounds, None) is not None,
        "manager": manager,
        **names,
    }
    try:
        exec(compile(program, "<program>", "exec"), module)
    except FailedCode as error:
        return trace, str(error).partition(":")[0].partition("\n")[0]
    except Exception as error:
        return trace, type(error).__name__
    return trace, module["result"]


def played(source: str, kind: str) -> tuple[Any, ...]:
    """What the program does with a block in its loop."""
    in_function = kind in ("function", "generator")
    names = "note, more, manager" + ("" if kind == "class" else ", a, b, r, turn")
    more = 'writes="a b", '
    if kind == "class":
        more += 'ns=locals(), own="a b r turn", '
    arms = ARMS.format(names=names, more=more, and_return=" return" if in_function else "")
    block = indented(arms + (RETURN_ARM if in_function else ""))
    shared = {
        "play": play,
        "SOURCE": source,
        "Break": Break,
        "Continue": Continue,
        "Return": Return,
    }
    return outcome_of(placed(block, kind), **shared)


def native(source: str, kind: str) -> tuple[Any, ...]:
    """What the program does with the statements themselves in its loop."""
    return outcome_of(placed(indented(source), kind))


def placed(block: str, kind: str) -> str:
    loop = LOOP.format(block=block)
    template = {"function": FUNCTION, "generator": GENERATOR, "module": MODULE, "class": CLASS}[
        kind
    ]
    return template.format(loop=loop if kind == "module" else indented(loop))


MODEST = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)  # fmt: skip


@pytest.mark.parametrize("kind", ["function", "generator"])
@MODEST
@given(data=st.data())
def test_in_a_function(kind: str, data: st.DataObject) -> None:
    source = "t = 0\n" + data.draw(suites())
    assert played(source, kind) == native(source, kind)


@pytest.mark.parametrize("kind", ["module", "class"])
@MODEST
@given(data=st.data())
def test_where_nothing_returns(kind: str, data: st.DataObject) -> None:
    source = "t = 0\n" + data.draw(suites(function=False))
    assert played(source, kind) == native(source, kind)
