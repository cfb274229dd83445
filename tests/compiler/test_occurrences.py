"""The names of a file: the scopes of Python against `symtable`, prompts and odd places by a table."""

from __future__ import annotations

import re
import symtable
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from njc.compiler.frontend.blocks import NaturalBlock, collect_block_outputs, find_blocks
from njc.compiler.frontend.name_resolution import Local
from njc.compiler.frontend.occurrences import Occurrence, list_occurrences
from njc.compiler.frontend.parse import Module, parse
from njc.compiler.frontend.source import SourceFile

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("njc/compiler/frontend/*.py"))
PROGRAMS = sorted([*ROOT.glob("examples/*.njpy"), *ROOT.glob("spsbench/programs/*/*.njpy")])


def read_names(text: str) -> list[Occurrence]:
    module = parse(SourceFile("mail.njpy", text.encode()))
    assert isinstance(module, Module)
    blocks = [it for it in find_blocks(module) if isinstance(it, NaturalBlock)]
    return list_occurrences(module, blocks, collect_block_outputs(blocks))


def describe_table(table: symtable.SymbolTable) -> list[tuple[str, str, bool]]:
    """Return each name of each scope that Python has, and whether it is local there."""
    rows = [
        (table.get_name(), symbol.get_name(), symbol.is_local() or symbol.is_parameter())
        for symbol in table.get_symbols()
        if table.get_type() == "function"
    ]
    for child in table.get_children():
        rows += describe_table(child)
    return rows


@pytest.mark.parametrize("file", MODULES, ids=lambda file: f"{file.parent.name}/{file.name}")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="lists the names of inlined comprehensions")
def test_python_itself_finds_the_same_variables(file: Path) -> None:
    """Each local variable of Python is a variable of the same function here, and no other is."""
    text = file.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "")
    text = text.replace("natural", "xatural").replace("prompt", "xrompt")
    kinds = dict.fromkeys(("listcomp", "setcomp", "dictcomp", "genexpr"), "<comprehension>")
    kinds["lambda"] = "<lambda>"
    expected = {
        (kinds.get(scope, scope), name)
        for scope, name, is_local in describe_table(symtable.symtable(text, "module", "exec"))
        if is_local and not name.startswith((".", "__class__"))
    }
    found = {
        (it.home.scope.name, it.name)
        for it in read_names(text)
        if isinstance(it.home, Local) and it.home.scope.is_function
    }
    assert found == expected


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_name_stands_where_it_is_said_to(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    names = read_names(text)
    for place in names:
        assert place.name.endswith(unicodedata.normalize("NFKC", text[place.start : place.end]))
    references = re.findall(r"(?<!<)<:?([^\W\d]\w*)[.>]", text)
    assert set(references) <= {place.name for place in names if place.in_prompt}


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("import a.b as x, c\nprint(x, c)\n", "x", 2),
        ("from . import (\n    y as x,  # as z\n)\nx\n", "x", 2),
        ("try:\n    pass\nexcept (A,\n    B) as x:\n    x\n", "x", 2),
        ("match y:\n    case [x, *_] | {'k': x, **z} if x:\n        x\n", "x", 4),
        ("match y:\n    case {**x}:\n        x\n", "x", 2),
        ("match y:\n    case A(b=x) as z:\n        x, z\n", "z", 2),
        ("match y:\n    case [*x]:\n        x\n", "x", 2),
        ("def x(): pass\nasync  def  y(): x\n", "x", 2),
        ("async \\\n def \\\n x(): pass\nx()\n", "x", 2),
        ("class   x: pass\nx()\n", "x", 2),
        ("x = 1\nprint(f'{x} {x!r:>{x}} {{x}}' 'x' f\"{'x'}{x}\")\n", "x", 5),
        ("x = 1\nf'''\n{\nx\n}'''\n", "x", 2),
        ("x = 1\nprint(rf'\\{x}', f'{x:\\n}', f'\\N{DIGIT ONE}{x}')\n", "x", 4),
        ("x = 1\nf'{(lambda x: x)(x)}'\n", "x", 2),
        ("x = 0\ndef f():\n    global x, y\n    x = y = 1\n", "x", 3),
        (
            "def f():\n    x = 0\n    def g():\n        nonlocal x\n        x = 1\n    return x\n",
            "x",
            4,
        ),
        ("y = [(x := i) for i in range(3)]\nx\n", "x", 2),
        ("x = 0\nclass A:\n    x = 1\n    def f(self): return x\n", "x", 2),
        ("x = 0\ndel x\nwith a as x, b as (x, y): x\n", "x", 5),
        ("ﬁ = 1\nprint(fi)\n", "fi", 2),
        ("x = 1\nfor x.y in x: pass\n", "x", 3),
        ("def f(a, /, b, *c, d=1, **e):\n    return a, b, c, d, e\n", "c", 2),
    ],
)
def test_names_in_odd_places(text: str, name: str, count: int) -> None:
    names = read_names(text)
    first = next(it.variable for it in names if it.name == name)
    assert sum(it.variable == first for it in names) == count


PROMPT = '''
from typing import Literal
total = 0
class Row:
    size: int = 0
def fill(rows: list[Row], row: Row):
    global total
    f"""natural
    Put {len(rows)} <rows> and <row.size> into <:total>, <:best: list["Row"]>, <:kind:  Literal["Row"]>;
    <<rows>, < row >, <row>x</row>, <class>, <:fi: int>.
    """
    return best, kind, ﬁ
'''


def test_names_in_prompts() -> None:
    counts = Counter(it.variable for it in read_names(PROMPT))
    by_name = {name: count for (name, _), count in counts.items()}
    assert by_name["rows"] == by_name["total"] == by_name["Row"] == 3
    assert by_name["best"] == by_name["kind"] == by_name["fi"] == by_name["row"] == 2
    assert "class" not in by_name


def test_a_deep_program_is_read() -> None:
    text = "x = " + " + ".join(["y"] * 500) + "\n"
    assert sum(place.name == "y" for place in read_names(text)) == 500
