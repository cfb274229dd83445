"""Renaming: every local name of every program, by comparing what is compiled; a table of names that are refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from language_programs import PROGRAMS, make_document, name_program, open_program

from njc.editors.lsp.answers.rename import RenameRefused, rename
from njc.editors.lsp.texts.documents import Document, apply_edits

NEW_NAME = "renamed_by_the_editor"


def read_compiled(document: Document, name: str = "") -> str:
    """Return the tree of the compiled text, with a name in the place of the new one."""
    output = document.compilation.output
    assert output is not None, document.compilation.diagnostics
    return ast.dump(ast.parse(output.decode().replace(NEW_NAME, name)))


@pytest.mark.parametrize("file", PROGRAMS, ids=name_program)
def test_every_variable_of_a_function_can_be_renamed(file: Path) -> None:
    document = open_program(file)
    original = read_compiled(document)
    assert document.reading is not None
    reasons: list[str] = []
    for place in {it.variable: it for it in document.reading.names}.values():
        try:
            edits = rename(document, place.start, NEW_NAME)
        except RenameRefused as refused:
            reasons.append(str(refused))
            continue
        changed = make_document(apply_edits(document.text, edits))
        assert changed.text != document.text
        assert read_compiled(changed, place.name) == original, place.name
    known = r"not a variable of a function|is a (parameter|import|define)|`eval` in"
    assert not [reason for reason in reasons if not re.search(known, reason)]


FUNCTION = '''import json
total = 0

def add(price: int, count: int = 1) -> int:
    result = other = 0
    """natural
    Add <price> and <count> to <:result: int>, {}.
    """
    def inner(): pass
    return result
'''
CLASS = "def f():\n    x = 1\n    class A:\n        x = x\n"


@pytest.mark.parametrize(
    ("program", "name", "new_name", "reason"),
    [
        (FUNCTION, "result", "class", "`class` is not a name"),
        (FUNCTION, "result", "a b", "`a b` is not a name"),
        (FUNCTION, "result", "", "`` is not a name"),
        (FUNCTION, "result", "__a", "`__a` is not a name"),
        (FUNCTION, "result", "price", "with `price` a name would mean another variable"),
        (FUNCTION, "result", "int", "with `int` a name would mean another variable"),
        (FUNCTION, "result", "breaks", None),
        (FUNCTION, "total", "z", "`total` is not a variable of a function"),
        (FUNCTION, "int", "z", "`int` is not a variable of a function"),
        (FUNCTION, "json", "z", "`json` is not a variable of a function"),
        (FUNCTION, "price", "z", "`price` is a parameter in line 4"),
        (FUNCTION, "inner", "z", "`inner` is a define in line 9"),
        (FUNCTION.replace("return", "print(f'{result=}') #"), "result", "z", "line 10 may print"),
        (FUNCTION.replace("return", "locals() #"), "result", "z", "`locals` in line 10 may use"),
        (FUNCTION.format("< other >"), "other", "z", "line 7 names `other` in plain text"),
        (CLASS, "x", "z", "a class inside has the name `x` in line 4"),
        ("x = (1,\n", "x", "z", "the file is not Python yet"),
        ("x = 1  # natural\n", "natural", "z", "there is no variable here"),
    ],
)
def test_what_is_refused(program: str, name: str, new_name: str, reason: str | None) -> None:
    document, start = make_document(program), program.index(name)
    if reason is None:
        assert make_document(apply_edits(program, rename(document, start, new_name))).is_python
        return
    with pytest.raises(RenameRefused) as refused:
        rename(document, start, new_name)
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
    program = '''def f():
    नाम: str = "a"
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
