"""Random programs, with CPython as the oracle.

Each program is written twice: once with natural blocks, whose scripted model answers with statements, and
once with those statements in the place of the blocks. Both are run, and must give the same events.
NJC_THOROUGH=1 tries thousands.
"""

from __future__ import annotations

import textwrap
import warnings
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scripted_programs import outcome_of

PRELUDE = """
import asyncio, contextlib
events = []
def log(*what):
    if len(events) < 400: events.append(what)
async def tick(): await asyncio.sleep(0)
x, y = 100, 200
"""


@dataclass(frozen=True)
class Block:
    """A natural block, and the statements that its model answers with."""

    tags: str
    code: str


@dataclass(frozen=True)
class Line:
    """A line of ordinary code, and the suite below it."""

    text: str
    suite: tuple[Block | Line, ...] = ()


@dataclass(frozen=True)
class Place:
    """What may stand at a point of the program."""

    depth: int = 0
    function: str = ""
    in_loop: bool = False
    may_return: bool = False
    in_class: bool = False


def written(program: tuple[Block | Line, ...], natural: bool, indent: str = "") -> str:
    """Write a program with its blocks natural, or with the statements in their place."""
    rows: list[str] = []
    for each in program:
        if isinstance(each, Line):
            rows.append(indent + each.text)
            if each.suite:
                rows.append(written(each.suite, natural, indent + "    "))
        elif natural:
            code = textwrap.indent(each.code, indent)
            text = f'{indent}"""natural\n{indent}{each.tags}\n{indent}---\n{code}\n{indent}---\n{indent}"""'
            rows.append(text)
        else:
            rows.append(textwrap.indent(each.code, indent))
    return "\n".join(rows)


@st.composite
def blocks(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write a block that is legal at its place, and log what it leaves behind."""
    number = draw(st.integers(0, 99))
    choices = [
        (f"x = x + {number}", "<:x>"),
        (f"y = x * 2 - {number}", "<x> <:y>"),
        (f"log('b', {number}, x, y)", "<log> <x> <y>"),
        (f"fresh{number} = [x, {number}]", f"<x> <:fresh{number}>"),
        ("scratch = [i for i in range(x % 3)]\nlog(scratch)", "<log> <x>"),
        (f"raise ValueError({number}, x)", "<x>"),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = x + 1\nfinally:\n    log('f')",
            "<:x> <log>",
        ),
    ]
    if not place.in_class:
        choices.append(("add = lambda n: x + n\nx = x + 1\nlog(add(1))", "<:x> <log>"))
    if place.in_loop:
        choices += [
            ("if x % 2: break\nx = x + 1", "<:x>"),
            ("x = x + 1\nif x % 3: continue\nlog('stay')", "<:x> <log>"),
            ("for j in range(3):\n    if j: break\n    log(j)\nelse:\n    log('never')", "<log>"),
        ]
    if place.may_return:
        value = "" if place.function == "async generator" else " ('r', x)"
        choices += [
            (f"if x % 2:\n    return{value}\nx = x + 1", "<:x>"),
            (f"try:\n    return{value}\nfinally:\n    log('left')", "<x> <log>"),
        ]
    if place.function.startswith("async") and not place.in_class:
        choices.append(("await tick()\nx = x + 1", "<tick> <:x>"))
    code, tags = draw(st.sampled_from(choices))
    after = [Line(f"log({number}, fresh{number})")] if code.startswith("fresh") else []
    return [Block(tags, code), *after, Line("log(x, y)")]


@st.composite
def statements(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write one statement, compound ones with suites of their own."""
    inner = replace(place, depth=place.depth + 1)
    kinds = ["block", "block", "block", "plain"]
    if place.depth < 4:
        kinds += [
            "if",
            "for",
            "while",
            "try",
            "finally",
            "with",
            "match",
            "class",
            "function",
            "star",
        ]
    match draw(st.sampled_from(kinds)):
        case "block":
            return draw(blocks(place))
        case "plain":
            plain = [f"x = x - {draw(st.integers(0, 5))}", "y += 1", "log('plain', x)", "pass"]
            yields = ["yield x"] if "generator" in place.function and not place.in_class else []
            return [Line(draw(st.sampled_from(plain + yields)))]
        case "if":
            return [
                Line("if x % 2:", draw(suites(inner))),
                Line("else:", draw(suites(inner))),
            ]
        case "for":
            looped = replace(inner, in_loop=True)
            return [
                Line(f"for i{place.depth} in range(2):", draw(suites(looped))),
                Line("else:", draw(suites(inner))),
            ]
        case "while":
            name = f"k{place.depth}"
            looped = replace(inner, in_loop=True)
            body = (Line(f"{name} += 1"), *draw(suites(looped)))
            return [Line(f"{name} = 0"), Line(f"while {name} < 2:", body)]
        case "try":
            return [
                Line("try:", draw(suites(inner))),
                Line(
                    "except ValueError as error:", (Line("log(error.args)"), *draw(suites(inner)))
                ),
                Line("else:", draw(suites(inner))),
            ]
        case "finally":
            held = replace(inner, in_loop=False, may_return=False)
            return [Line("try:", draw(suites(inner))), Line("finally:", draw(suites(held)))]
        case "star":
            held = replace(inner, in_loop=False, may_return=False)
            return [
                Line(
                    "try:", (*draw(suites(inner)), Line("raise ExceptionGroup('g', [KeyError(x)])"))
                ),
                Line("except* (KeyError, ValueError):", draw(suites(held))),
            ]
        case "with":
            manager = draw(
                st.sampled_from(
                    ["suppress(ValueError)", "nullcontext()", "suppress(BaseException)"]
                )
            )
            return [Line(f"with contextlib.{manager}:", draw(suites(inner)))]
        case "match":
            cases = (
                Line("case 0:", draw(suites(inner))),
                Line("case captured:", (Line("log(captured)"), *draw(suites(inner)))),
            )
            return [Line("match x % 2:", cases)]
        case "class":
            body = draw(suites(Place(inner.depth, place.function, in_class=True)))
            return [Line("class Inner:", (Line("y = 5"), *body)), Line("log(Inner.y)")]
        case _:
            return draw(functions(Place(inner.depth)))


@st.composite
def functions(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write a function and a call of it; its variables are its own, or those around it."""
    kind = draw(st.sampled_from(["function", "generator", "async function", "async generator"]))
    name = f"inner{place.depth}"
    within = Place(place.depth, kind, may_return=True)
    start = draw(st.sampled_from(["x, y = 1, 2", "global x, y", "x, y = 3, 4"]))
    body = (Line(start), *draw(suites(within)))
    if "generator" in kind:
        body = (*body, Line("yield x"))
    head = "async def" if kind.startswith("async") else "def"
    call = {
        "function": f"{name}()",
        "generator": f"list({name}())",
        "async function": f"drive({name}())",
        "async generator": f"drive(collected({name}()))",
    }[kind]
    return [
        Line(f"{head} {name}():", body),
        Line("try:", (Line(f"log({call})"),)),
        Line(
            "except Exception as error:",
            (Line("log(type(error), error.args, type(error.__context__))"),),
        ),
    ]


@st.composite
def suites(draw: st.DrawFn, place: Place) -> tuple[Block | Line, ...]:
    """Write a few statements."""
    return tuple(each for _ in range(draw(st.integers(1, 3))) for each in draw(statements(place)))


DRIVERS = """
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration as end: return end.value
async def collected(items): return [item async for item in items]
"""


def run_natural(text: str) -> tuple[list[Any], str]:
    variables = outcome_of(text + "\nfailure = None")
    return variables["events"], str(variables["failure"])


def run_plain(text: str) -> list[Any]:
    variables: dict[str, Any] = {"__name__": "scripted_program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "program.py", "exec"), variables)
    return variables["events"]  # type: ignore[no-any-return]


GUARDED = "try:\n{}\nexcept Exception as error:\n    log('end', type(error), error.args)\n"


@given(suites(Place()))
def test_same_events_as_python(program: tuple[Block | Line, ...]) -> None:
    natural = PRELUDE + DRIVERS + GUARDED.format(written(program, True, "    "))
    plain = PRELUDE + DRIVERS + GUARDED.format(written(program, False, "    "))
    assert comparable(run_natural(natural)[0]) == comparable(run_plain(plain))


def comparable(events: list[Any]) -> list[str]:
    return [repr(event) for event in events]
