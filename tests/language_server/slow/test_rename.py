"""Renaming: every local name of every program, by comparing what is compiled; a table of names that are refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from language_programs import PROGRAMS, make_document, name_program, open_program

from njc.editors.language_server.answers.rename import RenameRefused, find_renamed, rename
from njc.editors.language_server.texts.documents import Document, apply_edits
from njc.editors.language_server.texts.name_index import Variable
from njc.frontend.source import SourceFile
from njrt.private_names import mangle

NEW_NAME = "renamed_by_the_editor"


def read_compiled(document: Document, name: str = "") -> str:
    """Return the tree of the compiled text, with a name in the place of the new one."""
    output = document.compilation.output
    assert output is not None, document.compilation.diagnostics
    text = output.decode().replace(NEW_NAME, name)
    return ast.dump(ast.parse(re.sub(r"\b(\w+) as \1\b", r"\1", text)))


def list_local_names(document: Document) -> list[Variable]:
    reading = document.reading
    assert reading is not None
    return [
        variable
        for variable in reading.names.variables
        if variable.scope.kind in ("function", "comprehension", "module")
        and not variable.is_builtin
    ]


def rename_variable(document: Document, variable: Variable, new_name: str) -> Document:
    assert document.reading is not None
    place = document.reading.names.variables[variable][0]
    edits = rename(document, place.start, new_name)
    return make_document(apply_edits(document.text, edits))


EFFECTS = f"with `{NEW_NAME}` the block in line {{}} would be given the effects `{{}}`"
EVAL = "`eval` in line 9 may use the name `{}`"
REFUSED = {
    "examples/mailbox.njpy": {"self": EFFECTS.format(14, "direct")},
    "battle/rewritten.njpy": {"dataclass": EFFECTS.format(22, "direct")},
    "character_builder/natural.njpy": {"dataclass": EFFECTS.format(18, "direct")},
    "gsm8k/natural.njpy": {name: EVAL.format(name) for name in ("solve", "problem", "expression")},
    "tiny_bookshop/natural.njpy": {"dataclass": EFFECTS.format(16, "direct")},
}
"""The names of the programs that cannot be renamed, and why."""


@pytest.mark.parametrize("file", PROGRAMS, ids=name_program)
def test_every_name_of_a_program_can_be_renamed(file: Path) -> None:
    document = open_program(file)
    original = read_compiled(document)
    refused = {}
    for variable in list_local_names(document):
        try:
            changed = rename_variable(document, variable, NEW_NAME)
        except RenameRefused as reason:
            refused[variable.name] = str(reason)
            continue
        assert changed.text != document.text
        assert read_compiled(changed, variable.name) == original, variable.name
        still_named = re.search(rf"<:?{variable.name}\b", changed.text)
        assert not still_named or _is_used_twice(document, variable)
    assert refused == REFUSED.get(name_program(file), {})


def _is_used_twice(document: Document, variable: Variable) -> bool:
    """Return whether variables of several scopes have this name."""
    assert document.reading is not None
    names = document.reading.names.variables
    return sum(other.name == variable.name for other in names) > 1


# ── what is refused, and what is not ─────────────────────────────────────────────────────────────

FUNCTION = '''from typing import Literal as Choice
import os.path
import json
total = 0

def add(price: int, count: int = 1, /, tax: int = 0) -> int:
    """natural
    Add <price> and <tax> to <:result: int>, {}.
    """
    return result
'''
LOOP = '''
for i in []:
    """natural
    Put <i> into <:y>.
    """
    print(y)
'''
FIXTURE = "def test_it(tmp):\n    return tmp\n"
CLICK = "@click.option('--a')\ndef main(a):\n    return a\n"
CLASS = "x = 1\nclass A:\n    x = x\n    y = 2\n"


@pytest.mark.parametrize(
    ("program", "name", "new_name", "reason"),
    [
        (FUNCTION, "result", "class", "`class` is not a name"),
        (FUNCTION, "result", "a b", "`a b` is not a name"),
        (FUNCTION, "result", "", "`` is not a name"),
        (FUNCTION, "result", "price", "`price` would then mean another variable"),
        (FUNCTION, "total", "int", "`int` would then mean another variable in line 6"),
        (FUNCTION, "int", "whole", "`int` is not bound in this file"),
        (FUNCTION, "os", "system", "line 2 imports `os.path`, which binds `os`"),
        (FUNCTION + "add(1, tax=2)\n", "tax", "vat", "line 11 may give `tax` as a keyword"),
        (FUNCTION + "add(1, **{'tax': 2})\n", "tax", "vat", "line 11 may give `tax` as a keyword"),
        (FUNCTION + "f = add\nf(1, tax=2)\n", "tax", "vat", "line 12 may give `tax` as a keyword"),
        (FUNCTION + "__all__ = ['add']\n", "add", "plus", "`__all__` has the text `add`"),
        (FUNCTION + "print(globals())\n", "total", "z", "`globals` in line 11 may use the name"),
        (
            FUNCTION + "print(f'{total=}')\n",
            "total",
            "z",
            "the f-string in line 11 prints the name",
        ),
        (FUNCTION.format("< total >"), "total", "z", "line 8 names `total` in plain text"),
        (LOOP, "y", "breaks", None),
        (CLASS, "x", "z", "the class `A` reads and binds `x`"),
        (CLASS, "y", "z", "`y` is an attribute of the class `A`"),
        (FIXTURE, "tmp", "z", "`tmp` names a fixture of the test"),
        (CLICK, "a\\b(?=\\):)", "z", "the decorator `@click.option('--a')` may use the name"),
        ("def f(a):\n    return locals()\n", "a", "z", "`locals` in line 2 may use the name `a`"),
        ("x = (1,\n", "x", "z", "the file is not Python yet"),
        (FUNCTION, "result", "breaks", None),
        (FUNCTION, "price", "cost", None),
        (FUNCTION, "json", "j", None),
        (FUNCTION, "Choice", "Choose", None),
        (FUNCTION + "print(dict(price=2))\n", "tax", "vat", None),
    ],
)
def test_what_is_refused(program: str, name: str, new_name: str, reason: str | None) -> None:
    document = make_document(program)
    found = re.search(rf"\b{name}\b", program)
    assert found is not None
    if reason is None:
        edits = rename(document, found.start(), new_name)
        assert edits
        assert make_document(apply_edits(program, edits)).is_python
        return
    with pytest.raises(RenameRefused) as refused:
        rename(document, found.start(), new_name)
    assert str(refused.value).startswith(reason)


def test_there_is_nothing_to_rename_between_names() -> None:
    document = make_document("x = 1  # natural\n")
    with pytest.raises(RenameRefused, match="there is no variable here"):
        find_renamed(document, 12)
    assert find_renamed(document, 0).name == "x"


@pytest.mark.parametrize(
    ("other", "name", "reason"),
    [
        ("from mail import total\n", "total", "shop/app.py:1 may use `total` of this module"),
        ("import mail\nprint(mail.total)\n", "total", "shop/app.py:2 may use `total`"),
        ("from mail import add\nadd(1, tax=3)\n", "tax", "shop/app.py:2 may give `tax`"),
        ("from mail import add\nadd(1, 3)\n", "tax", None),
        ("import other\ntotal = 1\n", "total", None),
        ("from mail import (\n", "tax", None),
    ],
)
def test_names_that_other_modules_use(other: str, name: str, reason: str | None) -> None:
    document = make_document(FUNCTION)
    others = [SourceFile("shop/app.py", other.encode())]
    start = FUNCTION.index(name)
    if reason is None:
        assert rename(document, start, "renamed", others)
        return
    with pytest.raises(RenameRefused) as refused:
        rename(document, start, "renamed", others)
    assert str(refused.value).startswith(reason)


def test_the_interface_of_a_block_is_renamed() -> None:
    program = '''import njrt
mail = njrt.Interface()
def f(x: int) -> int:
    mail = njrt.Interface()
    """natural(model="mail", interface=mail)
    Use <x> for <:y: int>.
    """
    return y
'''
    edits = rename(make_document(program), program.index("    mail") + 4, "post")
    inner = program.replace("    mail =", "    post =").replace("interface=mail", "interface=post")
    assert apply_edits(program, edits) == inner


def test_names_with_combining_marks_are_different() -> None:
    program = '''नाम: str = "a"
नीम: str = "b"
"""natural
Look at <नाम> and write <:k: int>.
"""
match नाम, नीम:
    case {"a": 1, **रीम}, [*राम]:
        print(नाम, नीम, रीम, राम, k)
'''
    for name in ("नाम", "नीम", "रीम", "राम"):
        edits = rename(make_document(program), program.index(name), "total")
        assert apply_edits(program, edits) == program.replace(name, "total")


def test_private_names_keep_their_class() -> None:
    program = '''class Box:
    def fill(self, __item):
        """natural
        Put <__item> into <self>.
        """
'''
    document = make_document(program)
    assert document.reading is not None
    names = {variable.name for variable in document.reading.names.variables}
    assert mangle("__item", "Box") in names
    edits = rename(document, program.index("__item"), "item")
    assert apply_edits(program, edits) == program.replace("__item", "item")
