"""The walls of size: the product stays small enough for one person to take over.

A limit may only fall, to the number of its last column at the latest; nothing is packed to meet it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import pytest

import njrt
from njc.commands import njc
from njrt.data.options import OPTION_NAMES

ROOT = Path(__file__).parents[1]
MOST_COLUMNS, MOST_LINES, MOST_FUNCTION_LINES, MOST_PARAMETERS = 100, 450, 60, 8

LIMITS = {
    #                        now     in the end
    "statements": (37_000, 37_000),
    "lines": (64_000, 64_000),
    "lines of tests": (67_000, 67_000),
    "lines of bench": (2_200, 2_200),
    "pages": (38, 38),
    "words": (36_000, 36_000),
    "commands": (19, 19),
    "flags": (73, 73),
    "options of a block": (30, 30),
    "public names": (58, 58),
    "long lines": (0, 0),
    "long modules": (0, 0),
    "long functions": (0, 0),
    "functions with many parameters": (0, 0),
}


def list_modules(*folders: str) -> list[Path]:
    """Return the modules in folders, without the programs of the benchmark."""
    found = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return [path for path in found if "programs" not in path.parts]


PRODUCT = list_modules("njc", "runtime/njrt", "spsbench")


def list_pages() -> list[Path]:
    return sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "spsbench" / "docs").rglob("*.md")])


def count_lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def list_nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_bytes())):
            yield path, node


def count_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = function.args
    names = [it.arg for it in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def list_commands(command: click.Command) -> Iterator[click.Command]:
    """Yield a command and all commands inside it."""
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from list_commands(inner)


def count_flags() -> int:
    """Count the options of all commands but those that nearly all of them have."""
    usual = {"help", "quiet", "verbose", "color"}
    return sum(
        isinstance(parameter, click.Option) and parameter.name not in usual
        for command in list_commands(njc)
        for parameter in command.params
    )


@functools.cache
def measure() -> dict[str, int]:
    nodes = list(list_nodes())
    functions = [
        (path, node)
        for path, node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    texts = [path.read_text(encoding="utf-8") for path in PRODUCT]
    return {
        "statements": sum(isinstance(node, ast.stmt) for _, node in nodes),
        "lines": count_lines(PRODUCT),
        "lines of tests": count_lines(list_modules("tests")),
        "lines of bench": count_lines(list_modules("bench")),
        "pages": len(list_pages()),
        "words": sum(len(page.read_text(encoding="utf-8").split()) for page in list_pages()),
        "commands": len(njc.list_commands(click.Context(njc))),
        "flags": count_flags(),
        "options of a block": len(OPTION_NAMES),
        "public names": len(njrt.__all__),
        "long lines": sum(len(line) > MOST_COLUMNS for text in texts for line in text.splitlines()),
        "long modules": sum(text.count("\n") > MOST_LINES for text in texts),
        "long functions": sum(
            (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES for _, node in functions
        ),
        "functions with many parameters": sum(
            count_parameters(node) > MOST_PARAMETERS for _, node in functions
        ),
    }


@pytest.mark.parametrize("name", LIMITS)
def test_nothing_is_larger_than_its_limit(name: str) -> None:
    now, end = LIMITS[name]
    assert end <= now
    assert measure()[name] <= now


def test_everything_that_is_measured_has_a_limit() -> None:
    assert measure().keys() == LIMITS.keys()
