"""The names of a file: the scopes of Python against `symtable`, prompts and odd places by a table."""

from __future__ import annotations

import re
import symtable
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from language_programs import PROGRAMS, ROOT, make_document, name_program

from njc.editors.language_server.texts.name_index import NameIndex, VariableScope

MODULES = sorted(ROOT.glob("njc/frontend/*.py"))


def index(text: str) -> NameIndex:
    reading = make_document(text).reading
    assert reading is not None
    return reading.names


def describe_table(table: symtable.SymbolTable) -> list[tuple[str, str, str, bool]]:
    """Return each name of each scope that Python has: the scope, the name, and whether it is local there."""
    rows = []
    for symbol in table.get_symbols():
        is_own = symbol.is_local() or symbol.is_parameter()
        is_bound = symbol.is_assigned() or symbol.is_imported() or symbol.is_parameter()
        if symbol.is_referenced() or is_bound:
            rows.append((table.get_type(), table.get_name(), symbol.get_name(), is_own))
    for child in table.get_children():
        rows += describe_table(child)
    return rows


def describe_names(names: NameIndex) -> Counter[tuple[str, str, str, bool]]:
    """Return the same of our index; a comprehension is a function to Python."""
    rows = set()
    for occurrence in names.occurrences:
        scope = occurrence.scope
        if occurrence.role == "declare":
            continue
        variable = names.look_up(occurrence.name, scope)
        rows.add((id(scope), get_kind(scope), occurrence.name, variable.scope is scope))
    return Counter((kind, name, own) for _, kind, name, own in rows)


def get_kind(scope: VariableScope) -> str:
    return "function" if scope.kind in ("comprehension", "types") else scope.kind


@pytest.mark.parametrize("file", MODULES, ids=lambda file: f"{file.parent.name}/{file.name}")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="lists the names of inlined comprehensions")
def test_python_itself_finds_the_same_variables(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("from __future__ import annotations\n", "")
    text = text.replace("natural", "xatural").replace("prompt", "xrompt")
    table = symtable.symtable(text, "module", "exec")
    expected = Counter(
        (kind, name, own)
        for kind, _, name, own in describe_table(table)
        if not name.startswith((".", "__class__"))
    )
    found = describe_names(index(text))
    assert +(found - expected) == Counter()
    assert +(expected - found) == Counter()


@pytest.mark.parametrize("file", PROGRAMS, ids=name_program)
def test_every_name_stands_where_the_index_says(file: Path) -> None:
    names = index(file.read_text(encoding="utf-8"))
    text = names.source.text
    for variable, places in names.variables.items():
        for place in places:
            written = unicodedata.normalize("NFKC", text[place.start : place.end])
            assert variable.name.endswith(written)
            assert names.find_at(place.start) == names.find_at(place.end) == place
    references = re.findall(r"(?<!<)<:?([^\W\d]\w*)[.>]", text)
    in_prompts = Counter(place.name for place in names.occurrences if place.in_prompt)
    assert set(references) <= set(in_prompts)


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
        ("class X: pass\ny: 'X | None' = None\nz: \"list['X']\" = []\n", "X", 3),
        ("from typing import Literal\nX = 1\ny: Literal['X'] = 'X'\n", "X", 1),
        ("from typing import Annotated\nX = int\ny: Annotated['X', 'X'] = 1\n", "X", 2),
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
    names = index(text)
    first = next(variable for variable in names.variables if variable.name == name)
    assert len(names.variables[first]) == count


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
    names = index(PROMPT)
    counts = {variable.name: len(places) for variable, places in names.variables.items()}
    assert counts["rows"] == 3
    assert counts["total"] == 3
    assert counts["Row"] == 4
    assert counts["best"] == counts["kind"] == counts["fi"] == counts["row"] == 2
    assert "class" not in counts


def test_a_deep_program_is_read() -> None:
    text = "x = " + " + ".join(["y"] * 500) + "\n"
    assert sum(place.name == "y" for place in index(text).occurrences) == 500
