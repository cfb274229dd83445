"""Code in the place of a block does what the same code does there in plain Python."""

from __future__ import annotations

import random
from typing import Any

import pytest
from studio import Studio, load

import njrt
from case_programs import read_program
from njc.compiler.codegen.emit import indent_code

PLACES = {
    "loop": """
def f(xs, s):
    hold, y, z = [], 0, 0
    for i in xs:
        {block}
        hold.append((y, z))
        if i == 99:
            data = 1
    return hold, y, z
""",
    "closure": """
def f(xs, s):
    def inner(i):
        y = z = 0
        for i in xs:
            {block}
        data = 1
        return y, z
    return [inner(i) for i in xs]
""",
    "generator": """
def steps(xs, s):
    y = z = 0
    for i in xs:
        {block}
        yield y, z
    data = 1
def f(xs, s):
    try:
        return list(steps(xs, s))
    finally:
        print("done")
""",
    "handler": """
def f(xs, s):
    y = z = 0
    for i in xs:
        try:
            1 / 0
        except ZeroDivisionError as data:
            {block}
        finally:
            print(y, z)
    return y, z
""",
}
MODULE = """
xs, s, i = [1, 2], 'a.b', 2
{block}
data = 1
def f(xs, s):
    return y, z, data, seen, K
"""
CLASS = """
xs, s, i = [1, 2], 'a.b', 2
class A:
    {block}
def f(xs, s):
    return A.y, A.z
"""
HEAD = "import math\nK = 3\nseen = 'seen'\ndef g(n):\n    return n + 1\n"
BLOCK = '"""natural\n{}Set <:y>, <:z> by <i>, <xs>, <s>, <K>, <g>; break, continue or return if need be.\n{}"""'

CODES = [
    "ﬁ = 3\ny = fi + i\nz = ﬁ",
    "dat = 4\ny = f'{dat = }'\nz = f'{dat=:>3}'",
    "class P:\n    def __init__(self, v):\n        self.data = v\nmatch P(i):\n    case P(data=found):\n        y = z = found",
    "match {'a': 1, 'b': [2, 3]}:\n    case {'a': found, **rest}:\n        y = z = (found, rest)\n    case _:\n        y = z = 0",
    "match [1, 2, 3]:\n    case [1, *found] as rest:\n        y, z = found, rest\n    case _:\n        y = z = 0",
    "import re\ny = re.escape(s)\nre = 5\nz = re",
    "re = 5\ny = re\nimport re\nz = re.escape(s)",
    "import re\ny = re.escape(s)\ndel re\nz = 1",
    "import json\ny = json.dumps(i)\nfor json in [1, 2]:\n    z = json\nz = 3",
    "import json as q\ny = q.dumps(i)\nimport re as q\nz = q.escape(s)",
    "import math\ny = math.floor(2.5)\nz = 1",
    "from json import dumps as found\ny = found(i)\nz = 1",
    "def h():\n    import re\n    return re.escape(s)\ny = h()\nz = 1",
    "y = z = 1\nif i > 1:\n    return (i + 1), 2",
    "y = z = 1\nif i > 1:\n    return (i), (2)",
    "y = z = 1\nif i > 1:\n    return ((i, 2), (3, 4))",
    "y = z = 1\nif i > 1:\n    return (lambda q: q + 1)(i), *xs",
    "y = z = 1\nif i > 1:\n    return (  # why\n        i,  # a\n        1,\n    )",
    "y = z = 1\nif i > 1: return '''a\n  b\n''', 'é', ('é',)",
    "y = z = 1\nif i > 1:\n    return (q := i * 2)",
    "y = z = '😀'\nif i > 1: y = 'é'; continue",
    "y = z = 1\nfor q in xs:\n    if q > 1: break\nelse:\n    continue\ny = q",
    "try:\n    if i > 1:\n        continue\n    y = 1\nfinally:\n    z = 3\n    print('f')",
    "try:\n    1 / 0\nexcept ZeroDivisionError as found:\n    y = str(found)\nz = 1",
    "y = z = 1\nif i > 1:\n    raise ValueError(i) from KeyError(1)",
    "try:\n    raise KeyError(i)\nexcept LookupError as e:\n    y = e.args\nz = 2",
    "assert (\n    i < 5  # few\n    and (q := i + 1)\n)\ny = z = i",
    "y = [i for i in range(3)]\nz = [last := q for q in xs][-1] + last",
    "y = [found := q for q in xs]\nz = found\ndel found",
    "found, *rest = xs\ny, *z = [found, rest]",
    "found = 0\ndef h():\n    nonlocal found\n    found += 1\nh()\ny = z = found",
    "def twice(q):\n    return lambda *a: q(*a) + 1\n@twice\ndef h(n: int) -> int:\n    return n\ny = z = h(i)",
    "def h(**kw):\n    return kw\ny = h(data=1, seen=2)\nfound = 3\nz = dict(data=found)",
    "y = 'a\\\nb'\nz = '''a\n    b\n\tc  \n'''",
    "# fmt: off\ny = z = '''a\n    b'''\n# fmt: on",
    "'''natural\nSet <:q>.\n'''\ny = z = 1  # type: ignore",
    "class Item:\n    seen = 4\n    other = seen\ny = z = Item.other",
]


def run(text: str, xs: list[int]) -> tuple[str, list[str]]:
    """Run `f` of a program; return what it returns or raises, and what it prints."""
    printed: list[str] = []
    space: dict[str, Any] = {"print": lambda *values: printed.append(repr(values))}
    exec(compile(text, "program.py", "exec"), space)
    try:
        return repr(space["f"](xs, "a.b")), printed
    except Exception as error:
        return f"{error!r} from {error.__cause__!r}", printed


def compare(studio: Studio, place: str, code: str) -> None:
    """Build a program with this code, and run it beside the program that has the code as text."""
    template = HEAD + PLACES.get(place, place)
    margin = next(line for line in template.splitlines() if "{block}" in line).partition("{")[0]
    built = studio.built(template.format(block=BLOCK.format(margin, margin)), code)
    text = "if True:\n" + indent_code(code, margin + "    ")
    studio.njc("build", "program.njpy", "--mode", "static", "--locked")
    assert studio.read("program.py") == built
    for xs in ([1], [0, 1, 2, 3]):
        with njrt.using(model=njrt.Scripted([])):  # no live block may take over
            assert run(built, xs) == run(template.format(block=text), xs), built


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
def test_code_does_the_same_in_its_place(studio: Studio, code: str) -> None:
    for place in ("loop", random.Random(code).choice(list(PLACES)[1:])):
        (studio.folder / "njc.lock").unlink(missing_ok=True)
        compare(studio, place, code)


@pytest.mark.parametrize("place", [MODULE, CLASS], ids=["module", "class"])
@pytest.mark.parametrize(
    "code",
    [
        "try:\n    raise KeyError(i)\nexcept LookupError as e:\n    y = z = e.args",
        "try:\n    y = z = int(s)\nexcept ValueError as e:\n    y, z = str(e), 2",
        "for q in xs:\n    if q > 5:\n        w = 1\ny = z = 2",
        "import re as q\ny = q.escape(s)\nfor q in []:\n    pass\nz = 3",
    ],
)
def test_code_of_a_module_or_class(studio: Studio, code: str, place: str) -> None:
    compare(studio, place, code)


TWO = read_program("code_in_place_two")
IMPORTS = [
    "from datetime import datetime\n{0} = datetime(2020, 1, 1).year",
    "import datetime\n{0} = datetime.date(2020, 1, 2).day",
    "import math as datetime\n{0} = datetime.pi",
    "{0} = [datetime for datetime in s]",
    "from math import sqrt\n{0} = sqrt(4)",
    "from cmath import sqrt\n{0} = sqrt(4)",
    "import datetime\ndel datetime\n{0} = 1",
]


@pytest.mark.parametrize("seed", range(20))
def test_imports_of_several_blocks(studio: Studio, seed: int) -> None:
    chosen = random.Random(seed).choices(IMPORTS, k=3)
    codes = [code.format(name) for code, name in zip(chosen, "yzw", strict=True)]
    expected = []
    for code, name in zip(codes, "yzw", strict=True):
        space: dict[str, Any] = {"s": "ab"}
        exec(code, space)
        expected.append(space[name])
    with njrt.using(model=njrt.Scripted([])):
        built = studio.built(TWO, *codes)
        assert load(built)["f"]([], "ab") == tuple(expected), built


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("data = 4\ny = z = data", "`data`"),
        ("ｄａｔａ = 4\ny = z = data", "`data`"),
        ("class data:\n    pass\ny = z = data.__name__", "`data`"),
        ("from json import dumps as data\ny = z = data(i)", "`data`"),
        ("sum = 0\nfor q in xs:\n    sum += q\ny = z = sum", "`sum`"),
        ("_nj = string = 5\ny = z = _nj + string", "`_nj`"),
    ],
)
def test_names_that_mean_something_else_are_refused(studio: Studio, code: str, names: str) -> None:
    margin = " " * 8
    source = HEAD + PLACES["loop"].format(block=BLOCK.format(margin, margin))
    studio.write({"program.njpy": source})
    arguments = ("build", "program.njpy", "--mode", "static", "--attempts", "1")
    result = studio.njc(*arguments, replies=[f"```python\n{code}\n```"], code=1)
    assert f"choose other names than {names}: the program" in result.output


@pytest.mark.parametrize(
    "escape", ["\\r", "\\n", "\\x00", "\\ud800", "\\x0c", "\\u2028", "\\x85", "\\x1a"]
)
def test_instructions_with_any_character_are_comments(studio: Studio, escape: str) -> None:
    source = f'def f(x):\n    """natural\n    Set <:y> by <x>.{escape}y = 9; import nothing\n    """\n    return y\n'
    assert load(studio.built(source, "y = x"))["f"](4) == 4
