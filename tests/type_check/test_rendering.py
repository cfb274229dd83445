"""What a checker reads in place of a block, and that every place of it leads back to the source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from planting import plant_programs

from njc.compiler import analyze
from njc.editors.type_check.rendering import RenderedSource, render_for_checker
from njc.editors.type_check.reports import find_source_place
from njc.frontend.source import SourceFile
from njrt.options import Options

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(
    [
        *ROOT.glob("examples/*.njpy"),
        *ROOT.glob("spsbench/programs/**/*.njpy"),
        *ROOT.glob("tests/cases/**/*.njpy"),
    ]
)
PLANTED = plant_programs()


def render(data: bytes, path: str = "a.njpy") -> RenderedSource:
    return render_for_checker(analyze(SourceFile(path, data)), Options())


CASES = {
    "a read": ("def f(x: int):\n    '''natural\n    See <x>.\n    '''\n", "    _nj.print(x)\n"),
    "combining marks": (
        "def f(नाम: int):\n    '''natural\n    See <नाम>.\n    '''\n",
        "    _nj.print(नाम)\n",
    ),
    "each mention": ("x = 1\n'''natural\n<x> <x.real>\n'''\n", "_nj.print(x, x.real)\n"),
    "an output": ("def f():\n    '''natural\n    <:y>\n    '''\n    y\n", "    y = _nj.eval('')\n"),
    "a typed output": (
        "def f():\n    '''natural\n    <:y: int>\n    '''\n    y\n",
        "    y: int = _nj.eval('')\n",
    ),
    "a second type": (
        "def f():\n    y = 1\n    '''natural\n    <:y:int>\n    '''\n    y\n",
        "    y = _nj_r.cast(int, _nj.eval(''))\n",
    ),
    "an attribute": (
        "def f(x):\n    '''natural\n    <:x.a>\n    '''\n",
        "    x.a = _nj.eval('')\n",
    ),
    "read after bound": (
        "def f(x):\n    '''natural\n    <x> <:y: str> <y.upper>\n    '''\n    y\n",
        "    _nj.print(x); y: str = _nj.eval(''); _nj.print(y.upper)\n",
    ),
    "a global output": (
        "'''natural\n<:y: int>\n'''\n'''natural\n<:y: int>\n'''\ny\n",
        "y: int = _nj.eval('')\ny = _nj_r.cast(int, _nj.eval(''))\n",
    ),
    "nothing": ("'''natural\nPrint hello.\n'''\n", "pass\n"),
    "a jump": (
        "for x in [1]:\n    '''natural\n    Break if <x> is odd.\n    '''\n",
        "    if _nj.bool(): break\n    _nj.print(x)\n",
    ),
    "a certain return": (
        "def f(x: int) -> int:\n    if x:\n        '''natural\n        Return <x>.\n        '''\n    else:\n        return 1\n",
        "        _nj.print(x); return _nj_r.cast(_nj_r.NoReturn, _nj.eval(''))\n",
    ),
    "a possible return": (
        "def f(x: int) -> int:\n    '''natural\n    Return <x>.\n    '''\n    return 1\n",
        "    if _nj.bool(): return _nj_r.cast(_nj_r.NoReturn, _nj.eval(''))\n    _nj.print(x)\n",
    ),
    "a return in front of an else": (
        "def f(x: int) -> int:\n    try:\n        '''natural\n        Return <x>.\n        '''\n"
        "    except ValueError:\n        return 1\n    else:\n        return 2\n",
        "        if _nj.bool(): return _nj_r.cast(",
    ),
    "a bare return": (
        "def f(x: int) -> None:\n    '''natural\n    Return if <x>.\n    '''\n",
        "    _nj.print(x); return\n",
    ),
    "a class body": (
        "class A:\n    '''natural\n    <:y: int>\n    '''\n    z = y\n",
        "    y = _nj_r.cast(int, _nj.eval(''))\n",
    ),
    "a suite on one line": (
        "x = 1\nif x: '''natural\n<x>\n'''; print(x)\n",
        "if x:\n    _nj.print(x)\n    print(x)\n",
    ),
    "a taken name": ("_nj = 1\n'''natural\n<_nj>\n'''\n", "_nj1.print(_nj)\n"),
    "an interface": (
        "import shop\nx = 1\n'''natural(max_calls=3, interface=shop.FACE)\n<x>\n'''\n",
        "_nj.print(shop.FACE, x)\n",
    ),
    "an f-string": (
        "x = 1\nf'''natural\n<x> {x}\n'''\n",
        "_nj.print(f'''natural\n<x> {x}\n''', x)\n",
    ),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES)
def test_a_block_is_rendered_as_expressions(source: str, expected: str) -> None:
    file = render(source.encode())
    assert expected in file.rendered.text
    ast.parse(file.rendered.text)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_every_program_is_rendered_as_python_with_its_places(path: Path) -> None:
    check_places(path.read_bytes())


@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_program_is_rendered_with_its_places(name: str) -> None:
    check_places(PLANTED[name].text.encode())


ENCODED = {
    "latin-1": "# coding: latin-1\ndef f(größe):\n    '''natural\n    Für <größe.ä>.\n    '''\n".encode(
        "latin-1"
    ),
    "byte order mark": "\ufeffx = 1\n'''natural\n<x>\n'''\n".encode(),
    "carriage returns": b"x = 1\r'''natural\r<x>\r'''\r",
    "form feed": b"x = 1\n\x0c\n'''natural\n<x>\n'''\n",
    "no last line end": b"x = 1\n'''natural\n<x>\n'''",
    "wide characters": "x = 1\n'''natural\n😀 <x.real>\n'''\ny = '😀'; z = 1\n".encode(),
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_bytes_of_all_kinds_keep_their_places(data: bytes) -> None:
    assert check_places(data)


@pytest.mark.parametrize("data", [b"", b"x = 1\n", b"x = \n", b"\xff", b'"""natural\nNo <end>.\n'])
def test_a_file_without_blocks_is_left_alone(data: bytes) -> None:
    source = SourceFile("a.njpy", data)
    if data == b"\xff":
        return
    assert render(data).rendered.data == source.data


def check_places(data: bytes) -> int:
    """Check that each reference leads back to its place, from where it stands in the rendered text."""
    analysis = analyze(SourceFile("a.njpy", data))
    if analysis.module is None or any(
        found.code.startswith("NJ10") for found in analysis.diagnostics
    ):
        return 0
    file = render_for_checker(analysis, Options())
    text = file.rendered.text
    ast.parse(text)
    expected = {
        reference.start + 1 + reference.writes: reference.path
        for block in analysis.blocks
        for reference in block.references
        if reference.root != "__class__"
    }
    position, found = 0, set()
    for piece in file.pieces:
        if piece.is_authors and piece.start in expected:
            found.add(piece.start)
            line, column = file.rendered.place(position)
            for unit in ("utf-8", "utf-16-le"):
                size = 2 if unit == "utf-16-le" else 1
                before = file.rendered.line(line)[: column - 1].encode(unit)
                place = find_source_place(file, (line, len(before) // size), unit)  # type: ignore[arg-type]
                own_line, own_column = file.source.place(piece.start)
                own = file.source.line(own_line)[: own_column - 1]
                shown = len(own.encode(unit)) // 2 if size == 2 else len(own)
                assert place == (own_line, shown)
        position += len(piece.text)
    repeated = {
        start
        for start, path in expected.items()
        if sum(other == path for other in expected.values()) > 1
    }
    assert set(expected) - found <= repeated
    return len(found)
