"""Blocks that answer with data, at every kind of place, with CPython as the oracle.

Each program is written twice: once with natural blocks, whose scripted model replies with JSON, and once with statements in
their place. `{n = k}` is the statement of a block that binds `n: int`; behind `|` are other outputs, and the replies in turn.
"""

from __future__ import annotations

import itertools
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from compiling import compile_text
from njrt.block.session.settings import using
from njrt.testing import Request, Scripted

PLACE = re.compile(r"⟦(?P<text>[^|⟧]*)\|(?P<code>[^|⟧]*)\|(?P<replies>[^⟧]*)⟧")
HEAD = "import asyncio, contextlib, dataclasses, datetime, enum\nk: int = 1\n"
PROGRAMS = {
    "closures and nonlocal": """
        def outer():
            n = 0
            def inner(k: int):
                nonlocal n
                ⟦<:n: int> is <k>|n = k|{"n": 5} {"n": 7}⟧
                return n
            return inner(5), n, inner(7), n
        log(outer())
    """,
    "an output that a lambda and a comprehension see": """
        def f(k: int):
            late = lambda: n
            ⟦<:n: int> is <k>|n = k|{"n": 3}⟧
            return late(), [n for k in "ab"], (lambda n=n: n)()
        log(f(3))
    """,
    "unbound before, again after del": """
        def f(k: int):
            for i in range(2):
                ⟦<:n: int> is <k>|n = k|{"n": 3}⟧
                del n
            try:
                n
            except NameError as error:
                log(type(error))
        f(3)
    """,
    "suites of match": """
        def f(k: int, x: object):
            match x:
                case int():
                    ⟦<:n: int> is <k>|n = 1|{"n": 1}⟧
                case {"a": _, **rest} if rest:
                    ⟦<:n: int> is <k>|n = 2|{"n": 2}⟧
                case [_, *tail]: ⟦<:n: int> is <k>|n = 3|{"n": 3}⟧; log(tail)
                case _:
                    ⟦<:n: int> is <k>|n = 4|{"n": 4}⟧
            return n
        log(f(0, 1), f(0, {"a": 1, "b": 2}), f(0, [1, 2]), f(0, None))
    """,
    "suites of try": """
        def f(k: int):
            try:
                ⟦<:a: int> is 1|a = 1|{"a": 1}⟧
                if k: raise ValueError(k)
            except ValueError as error:
                ⟦<:b: int> is 2|b = 2|{"b": 2}⟧
                log(b, error.args)
            else:
                ⟦<:c: int> is 3|c = 3|{"c": 3}⟧
                log(c)
            finally:
                ⟦<:d: int> is 4|d = 4|{"d": 4}⟧
                log(a, d)
        f(0); f(1)
    """,
    "jumps through finally, with and else": """
        def f(k: int):
            for i in range(4):
                try:
                    with contextlib.suppress(BaseException):
                        ⟦Continue if <i> is 1, or break if it is 2.|if i == 1: continue
                        if i == 2: break|{"pass": true} {"continue": true} {"break": true}⟧
                    log("body", i)
                finally:
                    log("finally", i)
            else:
                log("else")
            ⟦Return <k>.|return k|{"return": 5}⟧
        log(f(5))
    """,
    "break of the inner loop": """
        def f():
            for i in range(2):
                for j in range(3):
                    ⟦Break if <j> is 1.|if j == 1: break|{"pass": true} {"break": true} {"pass": true} {"break": true}⟧
                else:
                    log("never")
                log(i, j)
        f()
    """,
    "generators": """
        def f(k: int):
            got = yield k
            ⟦<:n: int> is <k>|n = k|{"n": 3}⟧
            yield n + got
            ⟦Return <n>.|return n|{"return": 3}⟧
        def drive():
            made = f(3)
            log(next(made), made.send(1))
            try:
                next(made)
            except StopIteration as stop:
                log(stop.value)
        drive()
    """,
    "async functions and generators": """
        async def numbers(k: int):
            for i in range(3):
                ⟦<:n: int> is <i>, or return if it is 2.|if i == 2: return
                n = i|{"n": 0} {"n": 1} {"return": null}⟧
                yield n
        async def one(k: int) -> int:
            ⟦Return <k>.|return k|{"return": 4}⟧
        async def main():
            log([x async for x in numbers(1)], await asyncio.gather(one(4), one(4)))
        asyncio.run(main())
    """,
    "bodies of classes": """
        class A:
            k: int = 3
            ⟦<:n: int> is <k>|n = k|{"n": 3}⟧
            for i in range(2): ⟦<:last: int> is <i>|last = i|{"last": 0} {"last": 1}⟧
            def m(self): return self.n
        class E(enum.Enum):
            ONE = 1
            ⟦<:TWO: int> is 2|TWO = 2|{"TWO": 2}⟧
        def f(k: int):
            class B:
                ⟦<:n: int> is <k>|n = k|{"n": 7}⟧
            return B.n
        log(A.n, A.last, A().m(), sorted(vars(A)), list(E), f(7), A.__doc__)
    """,
    "private names and methods": """
        class A:
            def m(self, k: int) -> int:
                __t = k
                ⟦<:__r: int> is <__t>|__r = __t|{"__r": 3}⟧
                self.__z = __r
                return super().__sizeof__() * 0 + __r
            @property
            def p(self) -> int:
                ⟦Return 4.|return 4|{"return": 4}⟧
            @classmethod
            def c(cls, k: int) -> "A":
                ⟦<:x: int> is <k>|x = k|{"x": 1}⟧
                return cls()
        log(A().m(3), A().p, type(A.c(1)), sorted(vars(A())))
    """,
    "global variables": """
        total: int = 1
        def f(k: int):
            global total, fresh
            ⟦<:total: int> and <:fresh: int> are <k>|total = fresh = k|{"total": 4, "fresh": 4}⟧
        f(4)
        log(total, fresh)
    """,
    "other bindings of the name of an output": """
        def f(k: int):
            import json as a
            def b(): pass
            class c: pass
            with contextlib.nullcontext() as d:
                for e in range(1):
                    ⟦<:a: int>, <:b: int>, <:c: int>, <:d: int>, <:e: int> are <k>|a = b = c = d = e = k|{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}⟧
            del k
            ⟦<:k: int> is 2|k = 2|{"k": 2}⟧
            return a, b, c, d, e, k, sorted(locals())
        log(f(1))
    """,
    "names of builtins and of the runtime": """
        _nj = 5
        def f(k: int):
            _nj = 6
            ⟦<:list: str> and <:print: int> are <k>|list, print = "a", 2|{"list": "a", "print": 2}⟧
            return list, print, _nj
        log(f(1), _nj)
    """,
    "suites on the line of their header": """
        def f(k: int): ⟦<:n: int> is <k>|n = k|{"n": 3}⟧; return n
        if k: ⟦<:a: int> is 1|a = 1|{"a": 1}⟧; log(a)
        else: ⟦<:a: int> is 2|a = 2|{"a": 2}⟧
        try: ⟦<:b: int> is 1|b = 1|{"b": 1}⟧
        except ValueError: pass
        finally: ⟦<:c: int> is 1|c = 1|{"c": 1}⟧
        while True: ⟦Break.|break|{"break": true}⟧
        log(f(3), a, b, c)
    """,
    "exceptions of data": """
        class Bad(ValueError): pass
        def f(k: int) -> int:
            ⟦Raise <Bad> if <k> is 1; <:n: int> is 3.|if k == 1: raise Bad("no")
            n = 3|{"raise": "Bad", "message": "no"} {"n": 3}⟧
            return n
        try:
            f(1)
        except Bad as error:
            log(error.args)
        log(f(2))
    """,
    "values of types": """
        class Mood(enum.Enum):
            GOOD = 1
        @dataclasses.dataclass(frozen=True)
        class Row:
            day: datetime.date
            moods: tuple[Mood, ...]
        def f(k: int) -> list[tuple[int, str]] | None:
            ⟦<:row: Row>, <:x: float>, <:s: set[int]>, <:d: dict[int, None]> are <k>|row = Row(datetime.date(2024, 1, 2), (Mood.GOOD,)); x = 1.0; s = {1}; d = {1: None}|{"row": {"day": "2024-01-02", "moods": ["GOOD"]}, "x": 1, "s": [1], "d": {"1": null}}⟧
            log(row, x, s, d)
            ⟦Return <k> in a list.|return [(1, "a")]|{"return": [[1, "a"]]}⟧
        log(f(1))
    """,
}


def write(program: str, natural: bool) -> str:
    """Write a program with its blocks natural, or with statements in their place."""

    def replace(place: re.Match[str]) -> str:
        if not natural:
            return place["code"]
        line = place.string[place.string.rfind("\n", 0, place.start()) + 1 : place.start()]
        indent = line[: len(line) - len(line.lstrip())]
        return f'"""natural\n{indent}{place["text"]}\n{indent}"""'

    return HEAD + PLACE.sub(replace, textwrap.dedent(program))


def run(code: str | bytes) -> list[tuple[object, ...]]:
    events: list[tuple[object, ...]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(
            compile(code, "p.py", "exec", dont_inherit=True),
            {"__name__": __name__, "log": lambda *it: events.append(it)},
        )
    return events


@pytest.mark.parametrize("name", PROGRAMS)
def test_data_in_place_of_statements(name: str) -> None:
    text = write(PROGRAMS[name], natural=True)
    compilation = compile_text(text)
    assert compilation.output is not None, compilation.diagnostics
    replies: dict[int, Iterator[Any]] = {}
    decoder = json.JSONDecoder()
    for block, place in zip(compilation.blocks, PLACE.finditer(PROGRAMS[name]), strict=True):
        found, rest = [], place["replies"]
        while rest:
            reply, end = decoder.raw_decode(rest)
            found.append(reply)
            rest = rest[end:].lstrip()
        replies[block.line] = itertools.cycle(found)

    def answer(request: Request) -> Any:
        assert not request.tools, "the block answers with data"
        return next(replies[int(request.place.rpartition(":")[2])])

    with using(model=Scripted(answer)):
        events = run(compilation.output)
    assert repr(events) == repr(run(write(PROGRAMS[name], natural=False)))
