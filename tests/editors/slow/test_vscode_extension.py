"""The extension for VS Code: what its manifest says is there, and its patterns agree with the compiler.

`npm test` in editors/vscode runs the tests of the grammar and of the code, which need Node.js.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njc.commands import COMMANDS
from njc.compiler.frontend.markers import match_opening
from njc.compiler.frontend.prompt_references import Reference, find_tags
from njrt.data.options import OPTION_NAMES

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "editors" / "vscode"
PACKAGE: dict[str, Any] = json.loads((FOLDER / "package.json").read_text())
CONTRIBUTED = PACKAGE["contributes"]
GRAMMAR: dict[str, Any] = json.loads((FOLDER / "syntaxes/njpy.tmLanguage.json").read_text())
SOURCES = "".join(path.read_text() for path in sorted((FOLDER / "src").glob("*.ts")))


def test_every_file_that_the_manifest_names_is_there() -> None:
    named = [entry["path"] for kind in ("grammars", "snippets") for entry in CONTRIBUTED[kind]]
    named += [entry["configuration"] for entry in CONTRIBUTED["languages"]]
    assert len(named) >= 3
    for name in named:
        json.loads((FOLDER / name).read_text())
    built = re.search(r"--outfile=(\S+)", PACKAGE["scripts"]["build"])
    assert built is not None
    assert PACKAGE["main"] == f"./{built[1]}"


def test_every_command_is_registered_and_every_registered_one_declared() -> None:
    declared = {command["command"] for command in CONTRIBUTED["commands"]}
    assert declared == set(re.findall(r'registerCommand\("([\w.]+)"', SOURCES))
    in_menus = {item["command"] for menu in CONTRIBUTED["menus"].values() for item in menu}
    assert in_menus <= declared


def test_every_setting_is_read() -> None:
    for name in CONTRIBUTED["configuration"]["properties"]:
        assert name.removeprefix("njc.") in SOURCES or name == "njc.trace.server"


def test_the_commands_of_njc_that_are_started_exist() -> None:
    started = {"lsp", "dap", "run"}
    assert all(f'"{name}"' in SOURCES for name in started)
    assert started <= {*COMMANDS}


def test_the_request_for_the_compiled_text_is_that_of_the_server() -> None:
    features = pytest.importorskip("njc.editors.lsp.serving.features")
    assert f'"{features.COMPILED_TEXT}"' in SOURCES


def test_the_snippets_are_blocks_and_options() -> None:
    snippets = json.loads((FOLDER / "snippets/njpy.json").read_text())
    for name, snippet in snippets.items():
        body = "\n".join(snippet["body"]) if isinstance(snippet["body"], list) else snippet["body"]
        plain = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", body).replace("$0", "")
        if name == "Options of the file":
            choices = re.findall(r"\|(.*?)\|", body)[0].split(",")
            assert set(choices) <= set(OPTION_NAMES)
        else:
            literal = plain[plain.index('"""') : plain.rindex('"""') + 3]
            assert match_opening(literal), name


def test_the_lock_file_names_no_other_registry() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text())
    places = {entry.get("resolved", "") for entry in lock["packages"].values()}
    assert all(not place or place.startswith("https://registry.npmjs.org/") for place in places)
    assert lock["version"] == PACKAGE["version"]


# ── the patterns, held against the compiler ──────────────────────────────────────────────────────


def to_python(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the grammar as one of Python; the grammar uses nothing that differs."""
    return re.compile(pattern, re.MULTILINE)


BEGINNINGS = [
    to_python(part["begin"]) for part in GRAMMAR["repository"].values() if "contentName" in part
]
REFERENCE, TYPED = (
    to_python(GRAMMAR["repository"][name]["match"]) for name in ("reference", "typed-output")
)

LITERALS = [
    f"{prefix}{quotes}{first}\nHello.\n{quotes}"
    for prefix in ("", "r", "u", "f", "R", "F", "rf", "fr", "Rf", "b", "br")
    for quotes in ('"""', "'''", '"')
    for first in (
        "natural",
        "prompt",
        "natural  ",
        "natural(max_effects=3)",
        "natural (a=')')",
        "Natural",
        " natural",
        "natural text",
        "naturally",
        "natural: do",
    )
]


@pytest.mark.parametrize("literal", LITERALS)
def test_the_grammar_begins_a_prompt_where_the_compiler_does(literal: str) -> None:
    expected = match_opening(literal) is not None
    for before in ("", "    ", "x = 1; ", "if x: "):
        begun = any(pattern.search(before + literal) for pattern in BEGINNINGS)
        assert begun == expected


def find_colored(prompt: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges that the grammar colors as references, as an editor does: line by line, from the left."""
    start = 0
    for line in prompt.split("\n"):
        position = 0
        while position < len(line):
            if line.startswith("<<", position):
                position += 2
                continue
            found = TYPED.match(line, position) or REFERENCE.match(line, position)
            if found:
                yield start + found.start(), start + found.end()
            position = found.end() if found else position + 1
        start += len(line) + 1


def find_references(prompt: str) -> list[tuple[int, int]]:
    return [(tag.start, tag.end) for tag in find_tags(prompt) if isinstance(tag, Reference)]


PROMPTS = [
    "<x> <x.a.b> <:y> <:y.a> <_x1> <größe>",
    "<:y: int> <:y:int> <:y : int> <:y: list[str]> <:y: dict[str, list[int]]>",
    "<:y: Literal[\"a\", 'b>c']> and <x>",
    "<:f: Callable[[int], str]> <:n: int | None>",
    "<< <<x> 1 << 2 <x><y> <<<x>",
    "a < b > c, <3>, < x >, <x >, <items[0]>, <f(x)>, <a, b>, <a.>, <.a>, <>",
    "<class> <None> <:if> <a.class>",
    "<b>bold</b> and <x>",
    "<x\n> <y>",
    "<:y: >",
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_the_grammar_colors_what_the_compiler_reads(prompt: str) -> None:
    assert list(find_colored(prompt)) == find_references(prompt)


@given(st.text(st.sampled_from("<>:.x yif[]1\n"), max_size=30))
def test_the_grammar_colors_no_untyped_tag_that_is_none(prompt: str) -> None:
    untyped = [
        (start, end) for start, end in find_colored(prompt) if ":" not in prompt[start + 2 : end]
    ]
    expected = [
        span for span in find_references(prompt) if ":" not in prompt[span[0] + 2 : span[1]]
    ]
    assert untyped == expected
