"""The work of the compiler grows with the number of blocks and references: four times as many, four times the lines executed.

Lines are counted in a process of its own, because tracing disturbs other tests; times would not be repeatable.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from processes import run_python

COUNT = """
import sys
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile

lines = 0
def count(frame, event, argument):
    global lines
    lines += event == "line"
    return count

def measure(text):
    global lines
    lines = 0
    sys.settrace(count)
    compilation = compile_source(SourceFile("made.njpy", text.encode()))
    sys.settrace(None)
    assert compilation.output is not None, compilation.diagnostics
    return lines

head, part, tail = sys.stdin.read().split("=====")
few, many = (head + "".join(part.replace("NUMBER", str(i)) for i in range(n)) + tail for n in (15, 60))
measure(few)
print(measure(few), measure(many))
"""

BLOCK = '''"""natural
    {indent}Put into <:r_NUMBER: str> what <{path}> says, and stop if it says so.
    {indent}"""'''
SHAPES: Mapping[str, tuple[str, str, str]] = {
    "functions": (
        "",
        f"def f_NUMBER(text: str) -> str:\n    {BLOCK.format(indent='', path='text')}\n    return r_NUMBER\n",
        "",
    ),
    "one function": (
        "def f(text: str) -> None:\n    pass\n",
        f"    {BLOCK.format(indent='', path='text')}\n    print(r_NUMBER)\n",
        "",
    ),
    "loops in one function": (
        "def f(texts: list[str]) -> None:\n    pass\n",
        f"    for text in texts:\n        {BLOCK.format(indent='    ', path='text')}\n        print(r_NUMBER)\n",
        "",
    ),
    "methods that read a field": (
        "class Box:\n    name: str = ''\n",
        f"    def m_NUMBER(self) -> str:\n        {BLOCK.format(indent='    ', path='self.name')}\n        return r_NUMBER\n",
        "",
    ),
    "methods that read a property": (
        "class Box:\n    pass\n",
        f"    def m_NUMBER(self) -> str:\n        {BLOCK.format(indent='    ', path='self.name')}\n        return r_NUMBER\n",
        "    @property\n    def name(self) -> str:\n        return ''\n",
    ),
    "methods that read the object": (
        "class Box:\n    def __init__(self, name: str) -> None:\n        self.name = name\n",
        f"    def m_NUMBER(self) -> str:\n        {BLOCK.format(indent='    ', path='self')}\n        return r_NUMBER\n",
        "",
    ),
    "methods that set an attribute": (
        "class Box:\n    def __init__(self) -> None:\n        self.n = 0\n",
        "    def m_NUMBER(self, text: str) -> None:\n        '''natural\n        Set <:self.n: int> to the length of <text>.\n        '''\n",
        "",
    ),
    "methods that bind an object of their class": (
        "from dataclasses import dataclass\n@dataclass\nclass Box:\n    n: int\n",
        "    def m_NUMBER(self, text: str) -> object:\n        '''natural\n        Read <text> as <:r: Box>.\n        '''\n        return r\n",
        "",
    ),
    "the module": (
        "text: str = ''\n",
        f"if text:\n    {BLOCK.format(indent='', path='text')}\n    print(r_NUMBER)\n",
        "",
    ),
    "outputs in one text": (
        "def f(text: str) -> None:\n    '''natural\n",
        "    Look at <text>. Put it into <:r_NUMBER>.\n",
        "    '''\n",
    ),
    "requests in one text": (
        "from collections.abc import Sequence\ndef f(rows: Sequence[str]) -> None:\n    '''natural\n",
        "    Sort <rows>, and skip it. Break the rows, or return. Never continue.\n",
        "    Put the count into <:r: int>.\n    '''\n    print(r)\n",
    ),
    "a text without references": (
        "def f(rows: list[str]) -> None:\n    '''natural\n",
        "    Sort each of them, and put a row before it.\n",
        "    '''\n",
    ),
    "near references and braces in one text": (
        "def f(text: str) -> None:\n    '''natural\n",
        '    Look at < text > as an "a", `<text, text>` and {text}.\n',
        "    Put it into <:r: str>.\n    '''\n",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_four_times_the_blocks_take_four_times_the_lines(shape: str) -> None:
    done = run_python("-c", COUNT, input="=====".join(SHAPES[shape]), timeout=100)
    assert done.returncode == 0, done.stderr
    few, many = map(int, done.stdout.split())
    assert many < 5 * few, (few, many, many / few)
