"""Random programs, with CPython as the oracle.

Each program is written twice: once with natural blocks, whose scripted model answers with statements, and
once with those statements in the place of the blocks. Both are run, and must give the same events. The blocks
are offered all jumps, or those that their texts name. A program has about ninety blocks; NJC_THOROUGH=1
tries hundreds of programs.
"""

from __future__ import annotations

import sys
import textwrap
import warnings
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_programs import outcome_of

from njrt.data.options import Jumps

PRELUDE = """
import asyncio, contextlib
events = []
def log(*what):
    if len(events) < 400: events.append(what)
async def tick(): await asyncio.sleep(0)
async def pair():
    yield 0
    yield 1
@contextlib.asynccontextmanager
async def entered():
    await tick()
    yield
class Base:
    def poke(self, x, y): return ('base', x, y)
x, y = 100, 200
def traced(function):
    log('decorates', function.__name__)
    return function
def logged(*what):
    log('decorates with', what)
    return traced
class Pair:
    __match_args__ = ('left', 'right')
    def __init__(self, left, right): self.left, self.right = left, right
"""

HAS_TYPE_PARAMETERS = sys.version_info >= (3, 12)
LEAKS_MANGLING = sys.version_info < (3, 12, 4)
"""Python forgets, behind a generic class inside a class, for which class it mangles names."""


@dataclass(frozen=True)
class Block:
    """A natural block, and the statements that its model answers with."""

    tags: str
    code: str
    prefix: str = ""


@dataclass(frozen=True)
class Line:
    """A line of ordinary code, and the suite below it, or behind it if that is a block and a line."""

    text: str
    suite: tuple[Block | Line, ...] = ()
    on_one_line: bool = False


@dataclass(frozen=True)
class Place:
    """What may stand at a point of the program."""

    depth: int = 0
    function: str = ""
    in_loop: bool = False
    may_return: bool = False
    in_class: bool = False
    in_method: bool = False
    """Directly in a method: there are `self` and `super()`."""
    is_mangled: bool = False
    """Somewhere in a class: private names are mangled."""
    in_handler: bool = False
    in_star: bool = False
    """In a suite of `except*`."""
    has_own: bool = False
    """The innermost function has an `x` and a `y` that an inner one may declare nonlocal."""
    type_parameter: str = ""


def written(program: tuple[Block | Line, ...], natural: bool, indent: str = "") -> str:
    """Write a program with its blocks natural, or with the statements in their place."""
    rows: list[str] = []
    for item in program:
        if isinstance(item, Block):
            block = literal(item, indent) if natural else textwrap.indent(item.code, indent)
            rows.append(indent + block if natural else block)
        elif item.on_one_line and natural:
            block, line = item.suite
            assert isinstance(block, Block)
            assert isinstance(line, Line)
            rows.append(f"{indent}{item.text} {literal(block, indent)}; {line.text}")
        else:
            rows.append(indent + item.text)
            if item.suite:
                rows.append(written(item.suite, natural, indent + "    "))
    return "\n".join(rows)


def literal(block: Block, indent: str) -> str:
    """Write a block's literal; an f-string computes a part of its text."""
    computed = "{1 + 1!r:>{3}} {{text}}" if block.prefix == "f" else ""
    code = textwrap.indent(block.code, indent)
    rows = (f"{block.tags} {computed}", "---", code.removeprefix(indent), "---", '"""')
    return f'{block.prefix}"""natural\n{indent}' + f"\n{indent}".join(rows)


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
        ("log(seen := x + 1)\nlog(seen)", "<log> <x>"),
        ("x += 1", "<:x: int>"),
        (f"raise ValueError({number}, x)", "<x>"),
        (f"raise ValueError({number}) from KeyError(x)", "<x>"),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = x + 1\nfinally:\n    log('f')",
            "<:x> <log>",
        ),
    ]
    if not place.in_class:
        choices.append(("add = lambda n: x + n\nx = x + 1\nlog(add(1))", "<:x> <log>"))
        choices.append(
            ("log([n + x for n in range(2)], [w := n for n in range(x % 4)])", "<x> <log>")
        )
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
        choices.append(("async for i in pair():\n    x = x + i", "<pair> <:x>"))
        choices.append(("x = x + sum([i async for i in pair()])", "<pair> <:x>"))
        choices.append(("async with entered():\n    x = x + 1", "<entered> <:x>"))
    if place.in_handler or place.in_star:
        choices += [
            ("raise", ""),
            ("if x % 2: raise", "<x>"),
            ("try:\n    raise\nfinally:\n    log('again')", "<log>"),
        ]
    if place.in_star:
        choices.append((f"raise ExceptionGroup('new', [OSError({number})])", ""))
    if place.is_mangled:
        choices.append(("__kept = x + 1\nlog(__kept)", "<:__kept> <x> <log>"))
    if place.in_method:
        choices += [
            ("self.__hidden = x\nlog(self.__hidden)", "<self> <x> <log>"),
            ("self.seen = x\nlog(self.seen)", "<:self.seen> <x> <log>"),
            ("log(super().poke(x, y))", "<super> <log> <x> <y>"),
            ("log(__class__.__name__)", "<__class__> <log>"),
        ]
    if place.type_parameter:
        name = place.type_parameter
        choices.append((f"log({name}.__name__)", f"<log> <{name}>"))
    code, tags = draw(st.sampled_from(choices))
    after = [Line(f"log({number}, fresh{number})")] if code.startswith("fresh") else []
    prefix = draw(st.sampled_from(["", "", "", "r", "f"]))
    unused = draw(st.sampled_from(["", "", "", " Break, continue, return or raise."]))
    return [Block(tags + unused, code, prefix), *after, Line("log(x, y)")]


@st.composite
def statements(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write one statement, compound ones with suites of their own."""
    inner = replace(place, depth=place.depth + 1)
    kinds = ["block", "block", "block", "plain"]
    if place.depth < 4:
        kinds += [
            "walrus",
            "patterns",
            "handled",
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
            "one line",
            "method",
        ]
        if place.function.startswith("async") and not place.in_class:
            kinds.append("async")
    match draw(st.sampled_from(kinds)):
        case "block":
            return draw(blocks(place))
        case "plain":
            plain = [f"x = x - {draw(st.integers(0, 5))}", "y += 1", "log('plain', x)", "pass"]
            plain += ["log((lambda n=x: n + x)())", "log([n + y for n in range(2) if n != x])"]
            plain += ["log(w := x)", "x, *y = x, y; y = len(y)"]
            plain += ["type Alias[T] = list[T]"] * HAS_TYPE_PARAMETERS
            if "generator" in place.function and not place.in_class:
                plain += ["yield x", "log((yield y))"]
            if place.function == "generator" and not place.in_class:
                plain.append("yield from range(x % 3)")
            if place.function.startswith("async") and not place.in_class:
                plain += [
                    "log([n + x async for n in pair()])",
                    "log({n: await tick() async for n in pair()})",
                ]
            return [Line(draw(st.sampled_from(plain)))]
        case "walrus":
            name = f"w{place.depth}"
            looped = replace(inner, in_loop=True)
            loop = Line(f"while ({name} := {name} + 1) < 3:", draw(suites(looped)))
            other = draw(suites(inner))
            return [
                Line(f"{name} = x % 3"),
                draw(
                    st.sampled_from(
                        [loop, Line(f"if ({name} := {name} - 1) and log({name}) is None:", other)]
                    )
                ),
                Line("else:", draw(suites(inner))),
                Line(f"log({name})"),
            ]
        case "patterns":
            subject = draw(
                st.sampled_from(["(x, y)", "Pair(x, y)", "{'left': x, 'more': y}", "[x, [y, x]]"])
            )
            patterns = [
                "(a, b) if (c := a % 2)",
                "Pair(a, right=b)",
                "{'left': a, **b}",
                "[a, [b, *_]]",
                "(Pair(a, b) | (a, b))",
            ]
            body = (Line("log(a, b)"), *draw(suites(inner)))
            cases = [
                Line(f"case {pattern}:", body) for pattern in draw(st.permutations(patterns))[:3]
            ]
            return [Line(f"match {subject}:", (*cases, Line("case _:", draw(suites(inner)))))]
        case "handled":
            kind = draw(st.sampled_from(["ValueError", "(KeyError, ValueError)", "Exception"]))
            handler = replace(inner, in_handler=True, in_star=False)
            handled = (*draw(suites(handler)), *draw(statements(handler)))
            held = replace(inner, in_loop=False, may_return=False)
            return [
                Line("try:", (*draw(suites(inner)), Line("raise KeyError(x)"))),
                Line(f"except {kind} as error:", (Line("log(type(error), error.args)"), *handled)),
                Line("finally:", draw(suites(held))),
            ]
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
                    "except ValueError as error:",
                    (Line("log(error.args)"), *draw(suites(replace(inner, in_handler=True)))),
                ),
                Line("else:", draw(suites(inner))),
            ]
        case "finally":
            held = replace(inner, in_loop=False, may_return=False)
            return [Line("try:", draw(suites(inner))), Line("finally:", draw(suites(held)))]
        case "star":
            held = replace(inner, in_loop=False, may_return=False)
            groups = [
                "[KeyError(x)]",
                "[ValueError(x), OSError(x)]",
                "[KeyError(1), ExceptionGroup('i', [ValueError(x)])]",
            ]
            group = f"if x % 5: raise ExceptionGroup('g', {draw(st.sampled_from(groups))})"
            return [
                Line("try:", (*draw(suites(inner)), Line(group))),
                Line("except* KeyError:", draw(suites(replace(held, in_star=True)))),
                Line("except* ValueError as errors:", draw(suites(replace(held, in_star=True)))),
                Line("else:", draw(suites(inner))),
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
        case "one line":
            header = draw(st.sampled_from(["if x % 2:", "for _ in range(2):"]))
            looped = replace(inner, in_loop=inner.in_loop or header.startswith("for"))
            block, *_, line = draw(blocks(looped))
            return [Line(header, (block, line), on_one_line=True)]
        case "async":
            header = draw(st.sampled_from(["async for i in pair():", "async with entered():"]))
            looped = replace(inner, in_loop=inner.in_loop or "for" in header)
            return [Line(header, draw(suites(looped)))]
        case "class":
            wrong = LEAKS_MANGLING and inner.is_mangled
            type_parameter = "" if wrong else draw(type_parameters(inner))
            within = Place(inner.depth, place.function, in_class=True, is_mangled=True)
            body = draw(suites(replace(within, type_parameter=type_parameter)))
            head = f"class Inner{bracketed(type_parameter)}:"
            return [Line(head, (Line("y = 5"), *body)), Line("log(Inner.y)")]
        case "method":
            return draw(methods(inner))
        case _:
            return draw(functions(inner))


@st.composite
def methods(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write a class with a method, and a call of it."""
    within = Place(place.depth, "function", may_return=True, is_mangled=True, has_own=True)
    body = draw(suites(replace(within, in_method=True)))
    head = Line("def poke(self, x, y):", (*body, Line("log(vars(self))")))
    kind, first = draw(st.sampled_from([("staticmethod", ""), ("classmethod", "cls, ")]))
    other = [Line(f"@{kind}"), Line(f"def other({first}x, y=y):", draw(suites(within)))]
    return [
        Line("@logged('class', x)"),
        Line("class Derived(Base):", (head, *other)),
        Line("log(Derived().poke(x, 7), Derived.other(x), Derived().other(1, 2))"),
    ]


@st.composite
def type_parameters(draw: st.DrawFn, place: Place) -> str:
    """Name a type parameter, or none."""
    return f"T{place.depth}" if HAS_TYPE_PARAMETERS and draw(st.booleans()) else ""


def bracketed(type_parameter: str) -> str:
    return f"[{type_parameter}]" if type_parameter else ""


@st.composite
def functions(draw: st.DrawFn, place: Place) -> list[Block | Line]:
    """Write a function and a call of it; its variables are its own, or those around it."""
    kind = draw(st.sampled_from(["function", "generator", "async function", "async generator"]))
    name = f"inner{place.depth}"
    starts = ["x, y = 1, 2", "global x, y"] + ["nonlocal x, y"] * place.has_own
    start = draw(st.sampled_from(starts))
    type_parameter = draw(type_parameters(place))
    within = Place(
        place.depth,
        kind,
        may_return=True,
        is_mangled=place.is_mangled,
        has_own=start != "global x, y",
        type_parameter=type_parameter or place.type_parameter,
    )
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
    decorators = draw(st.sampled_from([[], [], ["traced"], ["logged(x, w := 1)", "traced"]]))
    return [
        *(Line(f"@{decorator}") for decorator in decorators),
        Line(f"{head} {name}{bracketed(type_parameter)}():", body),
        Line("try:", (Line(f"log({call})"),)),
        Line(
            "except Exception as error:",
            (Line("log(type(error), error.args, type(error.__context__), type(error.__cause__))"),),
        ),
    ]


@st.composite
def suites(draw: st.DrawFn, place: Place) -> tuple[Block | Line, ...]:
    """Write a few statements."""
    return tuple(item for _ in range(draw(st.integers(1, 3))) for item in draw(statements(place)))


DRIVERS = """
import asyncio
def drive(coroutine): return asyncio.run(coroutine)
async def collected(items): return [item async for item in items]
"""


def run_natural(text: str, jumps: Jumps) -> list[Any]:
    return outcome_of(text, jumps=jumps)["events"]  # type: ignore[no-any-return]


def run_plain(text: str) -> list[Any]:
    variables: dict[str, Any] = {"__name__": "scripted_program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "program.py", "exec"), variables)
    return variables["events"]  # type: ignore[no-any-return]


GUARDED = "try:\n{}\nexcept Exception as error:\n    log('end', type(error), error.args)\n"


@given(suites(Place()), st.sampled_from(["all", "named"]))
@settings(max_examples=settings.default.max_examples // 4)
def test_same_events_as_python(program: tuple[Block | Line, ...], jumps: Jumps) -> None:
    natural = PRELUDE + DRIVERS + GUARDED.format(written(program, True, "    "))
    plain = PRELUDE + DRIVERS + GUARDED.format(written(program, False, "    "))
    assert comparable(run_natural(natural, jumps)) == comparable(run_plain(plain))


def comparable(events: list[Any]) -> list[str]:
    return [repr(event) for event in events]
