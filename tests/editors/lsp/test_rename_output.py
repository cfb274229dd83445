"""What programs print before and after a rename: programs of every kind of scope, each name to names that are there.

A rename is refused, or the program prints what it printed before; names in what it prints may be the new ones.
"""

from __future__ import annotations

import contextlib
import io
import random
import warnings

import pytest
from language_programs import make_document

from njc.editors.lsp.answers.rename import RenameRefused, rename
from njc.editors.lsp.texts.documents import Document, apply_edits

CORPUS = {
    "walrus in a comprehension": """
def f(xs):
    a = [y := x + 1 for x in xs]
    return a, y
print(f([1, 2]))
x = 5
print([x for x in range(3)], x)
""",
    "class scope": """
x = 1
def outer():
    x = 2
    class A:
        y = x
        z = [x for _ in range(2)]
        def m(self):
            return x, A.y, self.z
    return A().m()
print(outer(), x)
""",
    "f-strings": """
width = 5
value = 3.14159
name = "n"
def g(value, prec=2):
    inner = f"{value:{width}.{prec}f} {name!r:>{width}} {f'{value} {width}'}"
    return inner + f"{ {k: value for k in [1]} } {(lambda value: value)(7)}"
print(g(value))
""",
    "global and nonlocal": """
count = 0
def f():
    global count
    total = 1
    def g():
        nonlocal total
        global count
        total += 1
        count += 1
        return total
    return g() + g(), total
print(f(), count)
""",
    "except as": """
error = "outside"
def f():
    try:
        1 / 0
    except ZeroDivisionError as error:
        shown = str(error)
    return shown
print(f(), error)
try:
    raise ValueError(1)
except (ValueError, TypeError) as caught:
    print(caught)
""",
    "match": """
def f(p):
    match p:
        case [first, *rest]:
            return first, rest
        case {"k": key, **more}:
            return key, more
        case (1 | 2) as small:
            return small
        case str() as text if text:
            return text
        case other:
            return other
print(f([1, 2]), f({"k": 1, "z": 2}), f(1), f("a"), f(9))
""",
    "lambdas and defaults": """
n = 1
def f(a, b=n, *args, c=lambda n: n + 1, **kw):
    n = 10
    return a, b, args, c(n), kw
g = lambda n, m=n: (n, m)
print(f(0, 2, 3, z=1), g(5))
""",
    "annotations": """
from typing import Literal, Optional
Name = str
T = int
def f(a: "Name", b: Optional["T"] = None) -> "list[Name]":
    local: "T" = 1
    lit: Literal["Name", "T"] = "Name"
    return [a, lit, local]
print(f("x"))
""",
    "private": """
__m = 1
class A:
    def __init__(self, __v):
        __w = __v
        self.__x = __w
    def get(self):
        return self.__x
print(A(3).get())
def f():
    return __m
print(f())
""",
    "with, for, del": """
from contextlib import contextmanager
@contextmanager
def cm(v):
    yield v
def f():
    with cm(1) as a, cm(2) as (b):
        for i, (j, *k) in enumerate([(1, 2, 3)]):
            d = i + j
            del d
    return a, b, i, j, k
print(f())
""",
    "nested comprehensions": """
m = [[1, 2], [3]]
i = 100
flat = [i for row in m for i in row if i]
table = {i: [j * i for j in row] for i, row in enumerate(m)}
gen = sum(i for i in (i for i in flat))
print(flat, table, gen, i)
""",
    "closures": """
def make():
    fs = []
    for k in range(3):
        def f(k=k):
            return k
        fs.append(f)
    late = [lambda: k for k in range(2)]
    return [f() for f in fs], [g() for g in late]
print(make())
""",
    "super and class cell": """
class A:
    def m(self):
        return 1
class B(A):
    def m(self):
        x = super().m()
        return x, __class__.__name__
print(B().m())
""",
    "generators and async": """
import asyncio
async def agen(n):
    for i in range(n):
        yield i
async def main():
    r = [x async for x in agen(3) if x]
    async for y in agen(2):
        r.append(y)
    return r
print(asyncio.run(main()))
""",
    "unpacking and augmented": """
def f():
    a, (b, *c) = 1, (2, 3, 4)
    a += b
    t = u = a
    s = [0]
    s[a - 3] += u
    print(a, b, c, t, u, s)
f()
""",
    "conditional binding": """
import sys
if sys.argv:
    mode = 1
else:
    mode = 2
def f():
    if mode == 1:
        res = "one"
    return res
print(f(), mode)
""",
    "non ascii": """
def f(n):
    größe = ﬁ = n
    print(f"{größe} 😀 {größe}")
    return fi + größe
print(f(2))
""",
    "natural block": '''
import njrt
from collections.abc import Sequence
def f(items: Sequence[int], bonus: int) -> int:
    best = 0
    for item in items:
        """natural
        Put <item> plus <bonus> into <:best: int>. {item} item
        """
    return best + sum([item for item in items])
import re
def reply(request):
    return {re.search(r"<:(\\w+)", request.messages[0].text)[1]: 7}
with njrt.using(model=njrt.Scripted(reply), max_calls=5):
    print(f([1, 2], 3))
''',
}

NEW_NAMES = ("fresh", "print", "é", "_", "match")
SAMPLE = 4


def print_output(document: Document) -> str:
    """What the compiled program prints; the type of the error that ends it, if one does."""
    output, printed = document.compilation.output, io.StringIO()
    assert output is not None, document.compilation.diagnostics
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        try:
            exec(compile(output, "program", "exec", dont_inherit=True), {"__name__": "program"})
        except Exception as error:
            return f"{printed.getvalue()}{type(error).__name__}: {error}"
    return printed.getvalue()


@pytest.mark.parametrize("title", CORPUS)
def test_a_rename_keeps_what_the_program_prints(title: str) -> None:
    generator = random.Random(title)
    document = make_document(CORPUS[title])
    expected = print_output(document)
    assert "Error" not in expected
    assert document.reading is not None
    names = document.reading.names
    known = sorted({place.name for place in names if place.name.isidentifier()})
    for variable in dict.fromkeys(place.variable for place in names):
        places = [place for place in names if place.variable == variable]
        chosen = generator.sample(known, min(SAMPLE, len(known)))
        for new in dict.fromkeys([*chosen, *generator.sample(NEW_NAMES, 2)]):
            try:
                edits = rename(document, generator.choice(places).start, new)
            except RenameRefused:
                continue
            changed = make_document(apply_edits(document.text, edits))
            printed = print_output(changed).replace(new, places[0].name)
            assert printed == expected.replace(new, places[0].name), f"{variable} -> {new}"
