"""Blocks planted at random legal places of real modules: everything else is the author's, byte for byte.

By default a sample of the standard library; with NJC_THOROUGH=1 all of it, and with
NJC_THOROUGH=packages the installed packages too.
"""

from __future__ import annotations

import ast
import os
import random
import re
import site
import sysconfig
import warnings
from pathlib import Path

import pytest

from njc.compiler.compiler import Compilation, compile_source, parse_compiled_tree
from njc.compiler.frontend.source import SourceDecodeError, SourceFile

THOROUGH = bool(os.environ.get("NJC_THOROUGH"))
LIBRARY = Path(sysconfig.get_path("stdlib"))
NEWLINE = re.compile(r"\r\n|\n|\r")


def _modules() -> list[Path]:
    found = sorted(path for path in LIBRARY.rglob("*.py") if "lib2to3/tests" not in path.as_posix())
    if os.environ.get("NJC_THOROUGH") == "packages":
        return found + [
            path for root in site.getsitepackages() for path in Path(root).rglob("*.py")
        ]
    sound = [path for path in found if "site-packages" not in path.parts]
    return sound if THOROUGH else random.Random(7).sample(sound, 60)


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.as_posix()[-60:])
def test_nothing_but_the_scaffold_differs(path: Path) -> None:
    source = SourceFile(path.name, path.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source.text)
            compile(tree, path.name, "exec")
        except (SyntaxError, ValueError, SourceDecodeError):
            pytest.skip("not a program that this Python compiles")
    planted = SourceFile("planted.njpy", _planted(source, tree, random.Random(path.name)))
    compilation = compile_source(planted)
    assert not [
        diagnostic for diagnostic in compilation.diagnostics if diagnostic.severity == "error"
    ]
    _check(compilation, tree)


def _planted(source: SourceFile, tree: ast.Module, chance: random.Random) -> bytes:
    """Put blocks before randomly chosen statements that begin their line, and at the end of suites."""
    suites = [
        suite
        for node in ast.walk(tree)
        for name in ("body", "orelse", "finalbody")
        if isinstance(suite := getattr(node, name, None), list)
    ]
    places: dict[int, str] = {}
    for suite in chance.sample(suites, min(len(suites), 12)):
        for statement in suite:
            line = min(
                [statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]
            )
            text = source.line(line)
            head = text[: len(text) - len(text.lstrip(" \t\f"))]
            before = source.line(line).encode()[: statement.col_offset].decode(errors="ignore")
            continued = line > 1 and source.line(line - 1).rstrip("\r\n").endswith("\\")
            prologue = statement in tree.body and _is_prologue(statement)
            is_elif = source.line(line)[len(head) :].startswith("elif")
            possible = not (before.strip() or continued or prologue or is_elif)
            if possible and chance.random() < 0.5:
                places[source.line_starts[line - 1]] = head
    text = source.text
    for at in sorted(places, reverse=True):
        kind = NEWLINE.search(text, at)
        newline = kind.group() if kind else "\n"
        quotes = chance.choice(['"""', "'''"])
        block = newline.join(
            (f"{places[at]}{quotes}natural", "  Print this text.", f"{quotes}", "")
        )
        text = text[:at] + block + text[at:]
    return source.bom + text.encode(source.encoding)


def _is_prologue(statement: ast.stmt) -> bool:
    is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
    return is_future or isinstance(getattr(statement, "value", None), ast.Constant)


def _check(compilation: Compilation, original: ast.Module) -> None:
    assert compilation.output is not None
    compiled = SourceFile("planted.py", compilation.output)
    tree = ast.parse(compiled.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(tree, "planted.py", "exec")
        compile(parse_compiled_tree(compilation), "planted.njpy", "exec")
    assert ast.dump(_without_scaffold(tree)) == ast.dump(_without_scaffold(original))
    if compilation.blocks:
        assert _is_author_text(*_unspliced(compiled.text), compilation.source.text)
    _check_line_map(compilation, compiled.text)


NL = r"(?:\r\n|\n|\r)"
SCAFFOLD = re.compile(
    rf"(?P<try>try:{NL}[ \t]*)?(?:await )?_nj\.a?run\({NL}[ \t]*"
    r"(?P<literal>(?P<quotes>\"{3}|'{3})natural(?:(?!(?P=quotes)).)*(?P=quotes))"
    rf",{NL}[ \t]*lambda: \(\),(?:{NL}[ \t]*\w+=[^\r\n]*,)+{NL}[ \t]*\)"
    rf"(?(try)(?:{NL}[ \t]*except _nj\.\w+(?: as _nj_r)?:{NL}[ \t]*"
    r"(?:break|continue|return _nj_r\.value|return\b))+|)",
    re.DOTALL,
)
HEADER = re.compile(rf"# compiled by njc [^\r\n]*{NL}# do not edit[^\r\n]*{NL}")
CLOSING = re.compile(rf"{NL}{NL}# njc lines [^\r\n]*{NL}\Z")


def _unspliced(compiled: str) -> tuple[str, str]:
    """Undo the compilation with regular expressions, knowing nothing of how it was done.

    Gives the text above and below the import of the runtime.
    """
    text = SCAFFOLD.sub(lambda scaffold: scaffold["literal"], compiled)
    text = CLOSING.sub("", HEADER.sub("", text, count=1))
    above, below = re.split(r"(?:; )?import njrt as _nj", text, maxsplit=1)
    return above, below


def _is_author_text(above: str, below: str, text: str) -> bool:
    """Return whether the two parts are the author's text, but for the blank lines that set the import off."""
    fewer_above = {above, re.sub(rf"{NL}\Z", "", above)}
    fewer_below = {re.sub(rf"\A{NL}{{{count}}}", "", below) for count in range(4)}
    with_last_newline = re.sub(r"(?<![\r\n])\Z", (NEWLINE.search(below) or ["\n"])[0], text)
    return with_last_newline in {a + b for a in fewer_above for b in fewer_below}


def _check_line_map(compilation: Compilation, compiled: str) -> None:
    """Every line of the source is found from the line of the compiled file that repeats it."""
    here, there = NEWLINE.split(compiled), NEWLINE.split(compilation.source.text)
    found = {
        line
        for number, text in enumerate(here, 1)
        if text.replace("; import njrt as _nj", "")
        == there[(line := compilation.line_map.find_source_line(number)) - 1]
    }
    edges = {line for block in compilation.blocks for line in (block.line, block.end_line)}
    assert set(range(1, len(there))) <= found | edges


class _Unscaffold(ast.NodeTransformer):
    """Take out what the compiler put in."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            target = value.func.value
            if isinstance(target, ast.Name) and target.id == "_nj":
                return None
        return node

    def visit_Import(self, node: ast.Import) -> ast.Import | None:
        return None if node.names[0].name == "njrt" else node

    def visit_Try(self, node: ast.Try) -> ast.Try | None:
        self.generic_visit(node)
        return node if node.body else None


def _without_scaffold(tree: ast.Module) -> ast.Module:
    return _Unscaffold().visit(tree)  # type: ignore[no-any-return]
