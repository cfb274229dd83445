"""A block that answers with data has a type for each output, wherever the type is written: no reply is unchecked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from compiling import compile_output, compile_text
from njc.compiler.analysis.authority import decide_authority
from njc.compiler.codegen.output_types import find_output_types
from njc.compiler.compiler import analyze
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.source import SourceFile
from njrt.block.session.settings import using
from njrt.data.options import NO_OPTIONS
from njrt.errors import NaturalError
from njrt.testing import Scripted

HEAD = """import dataclasses, datetime, typing as t
from dataclasses import InitVar
from datetime import date
from typing import Annotated, ClassVar, Final, Literal, NewType, Optional, TypeAlias, TypeVar, Union
T = TypeVar("T")
U = NewType("U", int)
A: TypeAlias = "int"
"""
TYPES = """int
'int'
Final
'Final'
Final[int]
t.Final['int']
ClassVar[int]
InitVar[int]
Annotated['int', 1]
Literal['a']
Optional['int']
'int | None'
'int' | None
date
datetime.date
A
'U'
T
Union[int, 'str']
list['date']
TypeAlias
n
'n'
[int]
None
tuple[int, ...]
t.Annotated[Final[int], 1]
int if 1 else str
'Unknown'"""
BLOCK = '"""natural\\n{0}Put one into <:n{1}>.\\n{0}"""'.replace("\\n", "\n")
PLAIN, INNER, TOP = BLOCK.format("    ", ""), BLOCK.format("        ", ""), BLOCK.format("", "")
TYPED = BLOCK.format("    ", ": TYPE")
PLACES = (
    f"def f(n: TYPE):\n    {PLAIN}\n",
    f"def f(*n: TYPE):\n    {PLAIN}\n",
    f"def f(**n: TYPE):\n    {PLAIN}\n",
    f"def f():\n    n: TYPE = 0\n    {PLAIN}\n",
    f"def f():\n    {PLAIN}\n    n: TYPE\n",
    f"n: TYPE = 0\n{TOP}\n",
    f"n: TYPE = 0\ndef f():\n    global n\n    {PLAIN}\n",
    f"def g():\n    n: TYPE = 0\n    def f():\n        nonlocal n\n        {INNER}\n",
    f"def g():\n    n: TYPE = 0\n    def f(date, datetime, U, A):\n        nonlocal n\n        {INNER}\n",
    f"class C:\n    int = str\n    date = 3\n    n: TYPE = 0\n    {PLAIN}\n",
    f"class C:\n    class date: pass\n    U = int = 3\n    def m(self, n: TYPE):\n        {INNER}\n",
    f"def f(int):\n    for date in int:\n        n: TYPE = 0\n        {INNER}\n",
    f"def f():\n    {TYPED}\n",
    f"class C:\n    {TYPED}\n    {PLAIN}\n",
    f"def f():\n    {TYPED}\n    {PLAIN}\n",
    f"def f():\n    {PLAIN}\n    {TYPED}\n",
    f"def f():\n    {TYPED}\n    def g():\n        nonlocal n\n        {INNER}\n",
    f"def f():\n    if 1: n: TYPE = 0\n    else: n: str = ''\n    {PLAIN}\n",
)
RETURNING = (
    'def f() -> TYPE:\n    """natural\n    Return one.\n    """\n',
    'def f(date, datetime, U, int) -> TYPE:\n    """natural\n    Return one.\n    """\n',
    'class C:\n    U = int = date = 3\n    def f(self) -> TYPE:\n        """natural\n        Return one.\n        """\n',
)


def find_types(text: str) -> Iterator[tuple[NaturalBlock, Mapping[str, str] | None]]:
    """Yield the blocks of a program with the types of their outputs; None for one that runs code."""
    analysis = analyze(SourceFile("p.njpy", f"{HEAD}{text}".encode()))
    for block in analysis.blocks:
        authority = decide_authority(block, analysis.types, NO_OPTIONS)
        given = find_output_types(block, authority.labels, analysis.types).by_path
        yield block, None if authority.effects == "direct" else given


@pytest.mark.parametrize("place", PLACES)
def test_each_output_of_an_answer_has_a_type(place: str) -> None:
    for type_ in TYPES.splitlines():
        for block, given in find_types(place.replace("TYPE", type_)):
            assert given is None or set(block.writes) <= set(given), type_


@pytest.mark.parametrize("place", RETURNING)
def test_each_returned_value_of_an_answer_has_the_type_of_the_function(place: str) -> None:
    for type_ in TYPES.splitlines():
        ((_, given),) = find_types(place.replace("TYPE", type_))
        assert given is None or "return" in given, type_


def test_an_output_with_the_name_of_its_type_needs_code_in_a_loop() -> None:
    loop = (
        f"from datetime import date\nfor _ in 1, 2:\n    {PLAIN.replace('<:n>', '<:date: date>')}\n"
    )
    (authority,) = compile_text(loop).authorities
    assert authority.effects == "direct"
    assert "hides its type" in authority.reason


def test_a_type_in_another_block_checks_the_reply() -> None:
    program = (
        f"def f():\n    {TYPED.replace('TYPE', 'int')}\n    print(n)\n    {PLAIN}\n    return n\n"
    )
    namespace: dict[str, object] = {}
    exec(compile_output(program), namespace)
    with using(model=Scripted([{"n": 1}, *[{"n": "two"}] * 10])), pytest.raises(NaturalError):
        namespace["f"]()  # type: ignore[operator]
