"""What a compiled file says of itself, and how its lines lead back to the source."""

from __future__ import annotations

import ast
import re
import traceback
from pathlib import Path

import black
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_programs import compiled, outcome_of

from njc.compiler.codegen.header import is_intact, make_header, parse_header
from njc.compiler.codegen.linemap import build_line_map, parse_line_map
from njc.compiler.compiler import compile_source, parse_compiled_tree
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options

CASES = Path(__file__).parents[1] / "cases" / "lower"
PROGRAM = '''"""Doc."""

import sys


def f(x):
    if x: """natural
    Use <x>, and make <:y>.
    """
    a = 1; """natural
    Add to <:a>.
    """; b = a / 0
    return b


def g(x):
    return f(
        x,
    )
'''


def test_header() -> None:
    source = SourceFile("shop/mail (1).njpy", PROGRAM.encode())
    output = compile_source(source, version="1.2.3").output
    assert output is not None
    header = parse_header(output)
    assert header == make_header(source, Options(), "1.2.3")
    assert header is not None
    assert header.path == source.path
    assert parse_header(PROGRAM.encode()) is None


def test_the_header_changes_with_all_that_the_output_depends_on() -> None:
    source = SourceFile("a.njpy", PROGRAM.encode())
    headers = {
        make_header(source, Options()),
        make_header(SourceFile("a.njpy", PROGRAM.encode() + b"\n"), Options()),
        make_header(source, Options(model="m")),
        make_header(source, Options(max_effects=1)),
        make_header(source, Options(), "9.9"),
    }
    assert len(headers) == 5
    output = compile_source(source, project=Options(model="m")).output
    assert output is not None
    header = parse_header(output)
    assert header is not None
    assert header == make_header(source, Options(model="m"))
    assert header == make_header(source, Options(model="m", writer="folder:questions"))
    assert b'project={"model": "m"},' in output


def test_an_edit_is_noticed_and_other_line_ends_are_not() -> None:
    output = compiled(PROGRAM).output
    assert output is not None
    assert is_intact(output)
    assert is_intact(output.replace(b"\n", b"\r\n"))
    assert not is_intact(output.replace(b"a = 1", b"a = 2"))
    assert not is_intact(output + b"# more\n")
    assert not is_intact(PROGRAM.encode())


@pytest.mark.parametrize("newline", [b"\r\n", b"\r"])
@pytest.mark.parametrize("path", sorted(CASES.glob("*.njpy")), ids=lambda path: path.stem)
def test_a_compiled_file_has_the_line_ends_of_its_source(path: Path, newline: bytes) -> None:
    text = re.sub(rb"\r\n|\r", b"\n", path.read_bytes())
    output, changed = (
        compile_source(SourceFile(path.name, text.replace(b"\n", end))).output or b""
        for end in (b"\n", newline)
    )
    assert {*re.findall(rb"\r\n|\n|\r", changed)} == {newline}
    assert changed.replace(newline, b"\n") == output
    assert is_intact(changed)


@pytest.mark.parametrize("name", ["_nj", "_ｎｊ", "_ⁿʲ", "_nj＿r"])
def test_a_name_of_the_program_is_not_taken_for_the_runtime(name: str) -> None:
    """Python reads `_ｎｊ` as `_nj`: names are compared in the form NFKC."""
    text = f'{name} = 3\n"""natural\nPut <{name}> into <:n: int>.\n"""\nprint(n)\n'
    output = (compiled(text).output or b"").decode()
    assert "import njrt as _nj1\n" in output


def test_the_line_map() -> None:
    compilation = compiled(PROGRAM)
    assert compilation.output is not None
    line_map = parse_line_map(compilation.output)
    assert line_map == compilation.line_map
    here, there = compilation.output.decode().split("\n"), PROGRAM.split("\n")
    for number, line in enumerate(here, 1):
        if line.strip() and there.count(line) == 1 and here.count(line) == 1:
            assert there[line_map.find_source_line(number) - 1] == line
    moved = next(number for number, line in enumerate(here, 1) if line == "    b = a / 0")
    assert line_map.find_source_line(moved) == 12
    run = next(number for number, line in enumerate(here, 1) if "_nj.run(" in line)
    assert line_map.find_source_line(run) == 7
    assert parse_line_map(b"x = 1\n") is None


def test_the_remapped_tree_has_the_lines_and_columns_of_the_source() -> None:
    compilation = compiled(PROGRAM)
    tree = parse_compiled_tree(compilation)
    originals = {
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in ast.walk(ast.parse(PROGRAM))
        if isinstance(node, ast.Name) and node.lineno > 12
    }
    remapped = {
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.lineno > 12
    }
    assert remapped == originals
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    assert max(lines) <= PROGRAM.count("\n")


def test_statements_after_a_block_on_its_line_have_the_columns_of_all_that_follows() -> None:
    last = '    """; é = x / 0; y = é'
    program = f'def f(x):\n    """natural\n    Change <x>.\n{last}\n'
    tree = parse_compiled_tree(compiled(program))
    (node,) = (node for node in ast.walk(tree) if isinstance(node, ast.BinOp))
    assert (node.lineno, node.end_lineno, node.col_offset) == (4, 4, len('    """; '))
    assert node.end_col_offset == len(last.encode())


def test_a_traceback_through_the_remapped_tree_shows_source_lines() -> None:
    program = (
        'def f(x):\n    x += 1\n    """natural\n    Break <x>.\n    ---\n    raise KeyError(x)\n    ---\n    """\n'
        "\n\ndef g():\n    return f(1)\n"
    )
    scope = outcome_of(program + "\nimport njrt.testing")
    assert callable(scope["g"])
    variables: dict[str, object] = {"__name__": "remapped"}
    with pytest.raises(KeyError) as raised:
        _run_remapped(program + "\n\ng()\n", variables)
    frames = [
        frame
        for frame in traceback.extract_tb(raised.value.__traceback__)
        if frame.filename == "p.njpy"
    ]
    assert [(frame.name, frame.lineno) for frame in frames] == [
        ("<module>", 15),
        ("g", 12),
        ("f", 3),
    ]


def _run_remapped(program: str, variables: dict[str, object]) -> None:
    from scripted_programs import answer

    from njrt.block.session.settings import using
    from njrt.testing import Scripted

    code = compile(parse_compiled_tree(compiled(program)), "p.njpy", "exec")
    with using(model=Scripted(answer)):
        exec(code, variables)


def test_lines_of_a_file_without_pieces() -> None:
    assert build_line_map([]).find_source_line(7) == 7


NAMES = st.lists(st.text("abcdefgh", min_size=3, max_size=30), min_size=1, max_size=6, unique=True)


@given(NAMES, st.integers(0, 3), st.booleans(), st.booleans())
def test_black_keeps_the_scaffold_whatever_the_width(
    names: list[str], depth: int, loops: bool, typed: bool
) -> None:
    names = [f"{name}_" for name in names]
    indent = "    " * depth
    rows = ["".join(("    " * level, f"def outer{level}():")) for level in range(depth)]
    rows.append(f"{indent}def function({', '.join(names) if len(names) < 3 else '*rest'}):")
    inner = indent + "    "
    if loops:
        rows.append(f"{inner}for item in []:")
        inner += "    "
    tags = " ".join(f"<:{name}: list[int]>" if typed else f"<:{name}>" for name in names)
    rows += [f'{inner}"""natural', f"{inner}{tags}", f'{inner}"""', ""]
    output = compiled("\n".join(rows)).output
    assert output is not None
    lines = output.decode()
    formatted = black.format_str(lines, mode=black.Mode())
    if len(rows[depth]) <= 88:
        assert formatted == lines


def test_the_same_source_gives_the_same_bytes() -> None:
    assert compiled(PROGRAM).output == compiled(PROGRAM).output
