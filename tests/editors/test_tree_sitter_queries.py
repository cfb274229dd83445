"""The queries for Neovim, Helix and Zed: they match the prompts of natural blocks, and only them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from njc.compiler.compiler import analyze
from njc.compiler.frontend.source import SourceFile

tree_sitter = pytest.importorskip("tree_sitter")
tree_sitter_python = pytest.importorskip("tree_sitter_python")

ROOT = Path(__file__).parents[2]
EDITORS = ROOT / "editors"
PYTHON = tree_sitter.Language(tree_sitter_python.language())
INJECTIONS = {
    "neovim": (EDITORS / "neovim/after/queries/python/injections.scm", "injection.content"),
    "helix": (EDITORS / "helix/queries/njpy/injections.scm", "injection.content"),
    "zed": (EDITORS / "zed/languages/njpy/injections.scm", "content"),
}
PROGRAMS = sorted([*ROOT.glob("examples/*.njpy"), *ROOT.glob("spsbench/programs/**/*.njpy")])

CASES = {
    "a block": ("x = 1\n'''natural\nSee <x>.\n'''\n", 1),
    "the other marker": ('"""prompt\nHello.\n"""\n', 1),
    "options": ("'''natural(max_effects=3, model='m')\nHello.\n'''\n", 1),
    "blanks": ("'''natural  \t\nHello.\n'''\n", 1),
    "raw": ("r'''natural\nHello \\d.\n'''\n", 1),
    "an f-string": ("x = 1\nf'''natural\nHello {x} and {x!r} <x>.\n'''\n", 1),
    "an f-string with a field first": ("x = 1\nf'''natural\n{x} <x>.\n'''\n", 1),
    "escapes": ('"""natural\nA \\" quote \\n\n"""\n', 1),
    "a one-line suite": ("x = 1\nif x: '''natural\nHello.\n'''\n", 1),
    "behind a semicolon": ("x = 1; '''natural\nHello.\n'''\n", 1),
    "in everything": (
        "class A:\n    async def f(self):\n        for x in []:\n            with self:\n"
        "                '''natural\n                Hello.\n                '''\n",
        1,
    ),
    "two": ("'''natural\nOne.\n'''\n\n'''natural\nTwo.\n'''\n", 2),
    "carriage returns": ("'''natural\r\nHello.\r\n'''\r\n", 1),
    "a value": ("x = '''natural\nHello.\n'''\n", 0),
    "an argument": ("print('''natural\nHello.\n''')\n", 0),
    "in parentheses": ("('''natural\nHello.\n''')\n", 0),
    "joined": ("'''natural\nHello.\n''' 'more'\n", 0),
    "in a tuple": ("'''natural\nHello.\n''', 1\n", 0),
    "bytes": ("b'''natural\nHello.\n'''\n", 0),
    "one line": ("'''natural language'''\n", 0),
    "capital": ("'''Natural\nHello.\n'''\n", 0),
    "a blank first": ("''' natural\nHello.\n'''\n", 0),
    "other words": ("'''natural language\nHello.\n'''\n", 0),
    "single quotes": ("'natural\\\nHello.'\n", 0),
    "a docstring": ("def f():\n    '''naturally\n    so\n    '''\n", 0),
}


def find_prompts(text: str, editor: str) -> list[tuple[int, int]]:
    """Return the ranges that a query injects, in bytes; those of one string as one."""
    path, capture = INJECTIONS[editor]
    query = tree_sitter.Query(PYTHON, path.read_text())
    tree = tree_sitter.Parser(PYTHON).parse(text.encode())
    strings = {
        (node.parent.start_byte, node.parent.end_byte)
        for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node)
        for node in captures[capture]
    }
    return sorted(strings)


@pytest.mark.parametrize("editor", INJECTIONS)
@pytest.mark.parametrize(("text", "count"), CASES.values(), ids=CASES)
def test_a_query_matches_prompts_and_nothing_else(text: str, count: int, editor: str) -> None:
    found = find_prompts(text, editor)
    assert len(found) == count
    blocks = analyze(SourceFile("a.njpy", text.encode())).blocks
    assert found == [(block.start, block.end) for block in blocks]


@pytest.mark.parametrize("editor", INJECTIONS)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_a_query_matches_the_blocks_of_every_program(path: Path, editor: str) -> None:
    text = path.read_text(encoding="utf-8")
    blocks = analyze(SourceFile(path.name, text.encode())).blocks
    expected = [
        (len(text[: block.start].encode()), len(text[: block.end].encode())) for block in blocks
    ]
    assert find_prompts(text, editor) == expected


def test_the_highlights_for_zed_are_a_query() -> None:
    query = tree_sitter.Query(PYTHON, (EDITORS / "zed/languages/njpy/highlights.scm").read_text())
    tree = tree_sitter.Parser(PYTHON).parse(b"def f(x: int) -> str:\n    return str(x)\n")
    captures = tree_sitter.QueryCursor(query).captures(tree.root_node)
    assert {"function", "type", "keyword", "variable.parameter"} <= set(captures)


def test_the_queries_are_one_query() -> None:
    bodies = set()
    for path, _ in INJECTIONS.values():
        body = re.sub(r"^;.*\n", "", path.read_text(), flags=re.MULTILINE)
        body = (
            body.replace("injection.", "")
            .replace(".inline", "_inline")
            .replace("-inline", "_inline")
        )
        bodies.add(body.strip())
    assert len(bodies) == 1


def test_the_configurations_are_toml() -> None:
    helix = tomllib.loads((EDITORS / "helix/languages.toml").read_text())
    (language,) = helix["language"]
    assert helix["language-server"]["njc"] == {"command": "njc", "args": ["lsp"]}
    assert language["language-servers"] == ["njc"]
    zed = tomllib.loads((EDITORS / "zed/languages/njpy/config.toml").read_text())
    assert language["grammar"] == zed["grammar"] == "python"
    assert language["file-types"] == zed["path_suffixes"] == ["njpy"]
    assert "python" in tomllib.loads((EDITORS / "zed/extension.toml").read_text())["grammars"]
