"""Compiled programs, run: each must come out as if the statements in its prompts stood in its place."""

from __future__ import annotations

import sys

import pytest
from scripted_programs import outcome_of


def natural(code: str, tags: str = "") -> str:
    """Write a block whose model answers `code`."""
    return f'"""natural\n{tags}\n---\n{code}\n---\n"""'


# name: (program, the value of R)
PROGRAMS: dict[str, tuple[str, object]] = {
    "reads and writes a local": (
        f"def f(x):\n  y = 1\n  {natural('y = x * 2', '<x> <:y>')}\n  return y\nR = f(21)",
        42,
    ),
    "rebinds a parameter": (
        f"def f(x):\n  {natural('x += 1', '<:x>')}\n  return x\nR = f(1)",
        2,
    ),
    "an output bound nowhere else is local, also for inner functions": (
        f"y = 'global'\ndef f():\n  {natural('y = 7', '<:y>')}\n  def g(): return y\n  return g()\n"
        "R = f(), y",
        (7, "global"),
    ),
    "nonlocal": (
        "def o():\n n = 0\n def inc():\n  nonlocal n\n  "
        + natural("n += 5", "<:n>")
        + "\n inc(); inc()\n return n\nR = o()",
        10,
    ),
    "nonlocal to a variable that only a block binds": (
        f"def o():\n {natural('n = 1', '<:n>')}\n def inc():\n  nonlocal n\n  n += 1\n inc()\n return n\n"
        "R = o()",
        2,
    ),
    "global": (
        f"g = 1\ndef inc():\n  global g\n  {natural('g += 5', '<:g>')}\ninc(); R = g",
        6,
    ),
    "enclosing variable, through a method, deep": (
        "def o(a):\n class K:\n  b = 2\n  def m(self, c):\n   def g(d):\n    nonlocal c\n    "
        + natural("c = a + c + d + self.b", "<a> <:c> <d> <self>")
        + "\n   g(4)\n   return c\n return K().m(3)\nR = o(1)",
        10,
    ),
    "a closure sees a rebinding during the block, and the block the closure's": (
        "def f():\n x = 1\n log = []\n def see(): log.append(x)\n def bump():\n  nonlocal x\n  x += 100\n "
        + natural("x = 2\nsee()\nbump()\nsee()", "<:x> <see> <bump>")
        + "\n return x, log\nR = f()",
        (102, [2, 102]),
    ),
    "a comprehension's variable is not the function's": (
        f"def f(r):\n q = [i for i in r]\n {natural('i = q[-1]', '<q> <:i>')}\n return i\nR = f([1, 2]), 'i' in globals()",
        (2, False),
    ),
    "an annotation alone makes a local": (
        f"def f():\n y: int\n {natural('y = 4', '<:y>')}\n return y\nR = f()",
        4,
    ),
    "except-as, match captures, with and for targets, walrus": (
        "import contextlib\ndef f(v):\n try: raise ValueError('m')\n except ValueError as e:\n  "
        + natural("s = str(e)", "<e> <:s>")
        + "\n match v:\n  case {'a': q, **rest}:\n   "
        + natural("s += str(q) + str(rest)", "<q> <rest> <:s>")
        + "\n with contextlib.nullcontext(3) as n:\n  for j in range(2):\n   if (w := j):\n    "
        + natural("s += f'{n}{j}{w}'", "<n> <j> <w> <:s>")
        + "\n return s\nR = f({'a': 1, 'b': 2})",
        "m1{'b': 2}311",
    ),
    "unbound output stays unbound after a jump": (
        f"def f():\n for i in [1]:\n  {natural('break', '<:y>')}\n return y\n"
        "try: f()\nexcept UnboundLocalError: R = 'unbound'",
        "unbound",
    ),
    "break and else": (
        f"def f(xs):\n for x in xs:\n  {natural('if x > 1: break', '<x>')}\n else: return 'else'\n return x\n"
        "R = f([1, 2, 3]), f([0])",
        (2, "else"),
    ),
    "continue and return value": (
        f"def f(xs):\n n = 0\n for x in xs:\n  {natural('if x < 0: continue', '<x>')}\n  n += 1\n  "
        + natural("if x > 5: return (x, n)", "<x> <n>")
        + "\nR = f([-1, -2, 3, 9, 10])",
        (9, 2),
    ),
    "writes before a jump persist": (
        "def f(m):\n y = 0\n try:\n  for i in range(3):\n   "
        + natural("y += 1\nif m: raise KeyError(y)\nbreak", "<:y> <m>")
        + "\n except KeyError as e: return 'raised', y, e.args[0]\n return 'end', y\nR = f(0), f(1)",
        (("end", 1), ("raised", 1, 1)),
    ),
    "no handler of the host sees a jump": (
        "import contextlib\ndef f():\n for i in range(2):\n  try:\n   with contextlib.suppress(BaseException):\n    "
        + natural("continue")
        + "\n    return 'suppressed'\n  except BaseException: return 'caught'\n return 'ok'\nR = f()",
        "ok",
    ),
    "finally runs on return": (
        f"log = []\ndef f():\n try:\n  {natural('return 1')}\n finally: log.append('f')\nR = f(), log",
        (1, ["f"]),
    ),
    "an exception of the block has no context of ours, and a note": (
        f"def f():\n {natural('raise KeyError(1)')}\n"
        "try: f()\nexcept KeyError as e: R = e.__context__, e.__notes__",
        (None, ["natural block at program.njpy:2"]),
    ),
    "generator": (
        f"def f(n):\n for i in range(n):\n  {natural('z = i * 10', '<i> <:z>')}\n  got = yield z\n  "
        + natural("if got == 's': return 'end'", "<got>")
        + "\ndef drive():\n g = f(5)\n out = [next(g), g.send(None)]\n try: g.send('s')\n"
        " except StopIteration as e: return out, e.value\nR = drive()",
        ([0, 10], "end"),
    ),
    "async function, async generator, async for": (
        "import asyncio\nasync def double(k):\n await asyncio.sleep(0)\n return k * 2\n"
        f"async def work(k):\n {natural('r = await double(k)', '<k> <:r> <double>')}\n return r\n"
        f"async def numbers(n):\n for i in range(n):\n  {natural('if i == 2: return', '<i>')}\n  yield i\n"
        "async def main():\n return await asyncio.gather(work(1), work(2)), [x async for x in numbers(9)]\n"
        "R = asyncio.run(main())",
        ([2, 4], [0, 1]),
    ),
    "a class body inside async def is not async": (
        f"import asyncio\nasync def f():\n class K:\n  {natural('z = 1', '<:z>')}\n return K.z\nR = asyncio.run(f())",
        1,
    ),
    "class body": (
        f"class C:\n a = 1\n {natural('b = a + 1', '<a> <:b>')}\nR = C.b, C.__doc__, C.__qualname__",
        (2, None, "C"),
    ),
    "class body in a function: its own names, and the function's": (
        f"def f(k):\n x = 'f'\n class C:\n  x = 'c'\n  {natural('y = x + k', '<x> <k> <:y>')}\n return C.y, x\nR = f('k')",
        ("ck", "f"),
    ),
    "nonlocal in a class body": (
        f"def f():\n x = 1\n class C:\n  nonlocal x\n  {natural('x += 1', '<:x>')}\n return x, 'x' in vars(C)\nR = f()",
        (2, False),
    ),
    "private names in a class body and in a method": (
        f"# njc: policy=guarded\nclass Q:\n __p = 2\n {natural('__r = __p + 1', '<__p> <:__r>')}\n ok = __r\n def m(self):\n  "
        + natural("__s = self.__p", "<self> <:__s>")
        + "\n  return __s\nR = Q.ok, Q().m()",
        (3, 2),
    ),
    "super in a method and in a nested function": (
        "class A:\n def m(self): return 'A'\nclass B(A):\n def m(self):\n  "
        + natural("r = super().m() + 'B'", "<super> <:r>")
        + "\n  return r\nR = B().m()",
        "AB",
    ),
    "dotted output": (
        "class P: pass\ndef f(p):\n "
        + natural("p.attack = 3", "<:p.attack>")
        + "\n return p.attack\nR = f(P())",
        3,
    ),
    "types, from the prompt and from an annotation": (
        f"def f(x: list[int]):\n {natural('x = [1]; y = {}', '<:x> <:y: dict[str, int]>')}\n return x, y\nR = f([])",
        ([1], {}),
    ),
    "a type in a class body": (
        f"class C:\n class T: pass\n {natural('t = T()', '<T> <:t: T>')}\nR = type(C.t) is C.T",
        True,
    ),
    "f-string block": (
        "def f(n):\n y = None\n f" + natural("y = {n}", "{n + 1} <:y>") + "\n return y\nR = f(4)",
        4,
    ),
    "one-line suites and semicolons": (
        f"def f(x):\n if x: {natural('y = 5', '<:y>')}\n else: y = 6\n"
        f" a = 1; {natural('a += 1', '<:a>')}; b = a; {natural('b += 1', '<:b>')}; {natural('b += 1', '<:b>')}\n"
        " return y, a, b\nR = f(1), f(0)",
        ((5, 2, 4), (6, 2, 4)),
    ),
    "not a docstring": (
        f"def f(x):\n {natural('x.append(1)', '<x>')}\nlog = []; f(log)\nR = log, f.__doc__",
        ([1], None),
    ),
    "module level, with a loop": (
        f"R = 0\nfor i in range(5):\n {natural('R += i' + chr(10) + 'if i == 2: break', '<i> <:R>')}",
        3,
    ),
    "block in finally, in except*": (
        "def f():\n log = []\n try:\n  try: raise ExceptionGroup('g', [ValueError(1)])\n  except* ValueError:\n   "
        + natural("log.append('star')", "<log>")
        + "\n  finally:\n   "
        + natural("log.append('finally')", "<log>")
        + "\n finally: pass\n return log\nR = f()",
        ["star", "finally"],
    ),
    "_nj is taken": (
        f"_nj = 3\ndef f(_nj_r):\n {natural('return _nj_r + _nj', '<_nj> <_nj_r>')}\nR = f(4)",
        7,
    ),
    "names like the package's and like locals": (
        f"njrt = 1\nlocals = 2\nclass C:\n {natural('z = njrt + 1', '<njrt> <:z>')}\nR = C.z",
        2,
    ),
    "future annotations and a docstring stay first": (
        "'''Doc.'''\nfrom __future__ import annotations\n"
        f"def f(x: Undefined):\n {natural('y = x', '<x> <:y>')}\n return y\nR = f(1), __doc__",
        (1, "Doc."),
    ),
    "decorators stay, and run once": (
        "n = []\ndef deco(f):\n n.append(1)\n return f\n@staticmethod\n@deco\ndef f(x):\n "
        + natural("return x", "<x>")
        + "\nR = f(5), n",
        (5, [1]),
    ),
    "loop in an except* suite": (
        "def f():\n out = []\n try: raise ExceptionGroup('g', [ValueError(1)])\n except* ValueError:\n"
        "  for i in range(4):\n   "
        + natural("if i == 2: break", "<i>")
        + "\n   out.append(i)\n return out\nR = f()",
        [0, 1],
    ),
    "global in a function around": (
        "x = 'module'\ndef f():\n global x\n def g():\n  "
        + natural("r = x", "<x> <:r>")
        + "\n  return r\n return g()\nR = f()",
        "module",
    ),
    "recursion": (
        f"def f(n):\n if n == 0: return 1\n {natural('r = n * f(n - 1)', '<n> <f> <:r>')}\n return r\nR = f(5)",
        120,
    ),
}
if sys.version_info >= (3, 12):
    PROGRAMS["type parameters"] = (
        f"def f[T](x: T):\n {natural('y = (T.__name__, x)', '<T> <x> <:y>')}\n return y\nR = f(1)",
        ("T", 1),
    )
    PROGRAMS["annotations that see the class around them"] = (
        "class A:\n n = int\n "
        + natural("type P = list[n]\ndef g[T: n](x: T) -> n: return x", "<n> <:P> <:g>")
        + "\ndef f():\n "
        + natural("class B:\n n = list\n class C[T](n): pass\n type Q = n\ny = B.C([1])[0]", "<:y>")
        + "\n return y\nR = A.P.__value__, A.g.__type_params__[0].__bound__, f()",
        (list[int], int, 1),
    )

RETURNS = {
    "def f(x):": "x",
    "def f(x) -> int:": "x",
    "def f(x) -> None:": None,
    "def f(x) -> 'None':": None,
    "def f(x):  # generator": "x",
    "def f(x) -> Iterator[int]:  # generator": None,
    "def f(x) -> Generator[int, None, int]:  # generator": "x",
    "def f(x) -> Generator[int, None, None]:  # generator": None,
    "def f(x) -> 'Generator[int, None, int]':  # generator": "x",
    "def f(x) -> 'Generator[int, None, None]':  # generator": None,
    "def f(x) -> Any:  # generator": "x",
    "def f(x) -> object:  # generator": "x",
    "Made = tuple[int]\ndef f(x) -> Made:  # generator": "x",
}
"""A function whose block returns "x", and what the caller gets; that of a generator is in its StopIteration."""
PROGRAMS |= {
    f"a value returned in {head}": (
        "from __future__ import annotations\nfrom typing import Any\n"
        f"{head}\n {natural('return x', 'Return <x>.')}\n{' yield x' * ('generator' in head)}\n"
        "def end_of(items):\n while True:\n  try: next(items)\n  except StopIteration as end: return end.value\n"
        f"R = {'end_of(f(7))' if 'generator' in head else 'f(7)'}",
        value and 7,
    )
    for head, value in RETURNS.items()
}
PROGRAMS["a value returned in __init__"] = (
    f"class C:\n def __init__(self):\n  {natural('return 1', 'Return 1.')}\nR = type(C()).__name__",
    "C",
)
PROGRAMS["a function of the module named by an underscore"] = (
    "from gettext import gettext as _\ndef f():\n"
    f" {natural('w = [_(text) for text in items] + [_(items[0])]', 'Put <_> of <items> into <:w>.')}\n return w\n"
    "items = ['a', 'b']\nR = f()",
    ["a", "b", "a"],
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    program, expected = PROGRAMS[name]
    assert outcome_of(program)["R"] == expected
