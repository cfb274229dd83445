"""The binder against CPython: what a scope binds, and where a name is looked up."""

from __future__ import annotations

import ast
import os
import random
import sys
import sysconfig
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from compiling import compile_text, find_codes
from njc.compiler.frontend.blocks import collect_block_outputs
from njc.compiler.frontend.name_resolution import (
    FunctionDefinition,
    Global,
    Local,
    ResolvedName,
    TypeParameter,
    collect_bindings,
    is_defined,
    resolve_name,
)
from njrt.data.private_names import mangle, unmangle

LIBRARY = Path(sysconfig.get_path("stdlib"))
SAMPLE = 2000 if os.environ.get("NJC_THOROUGH") else 40


def _modules() -> list[Path]:
    found = [path for path in sorted(LIBRARY.rglob("*.py")) if "site-packages" not in path.parts]
    return random.Random(3).sample(found, min(SAMPLE, len(found)))


@pytest.mark.parametrize("path", _modules(), ids=lambda path: path.as_posix()[-50:])
def test_functions_bind_what_cpython_says(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(path.read_bytes())
            module = compile(tree, path.name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            pytest.skip("not a program that this Python compiles")
    codes: dict[tuple[str, int], list[CodeType]] = {}
    for code in _codes(module):
        codes.setdefault((code.co_name, code.co_firstlineno), []).append(code)
    for node, class_name in _functions(tree, None):
        line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        for code in codes.get((node.name, line), [])[:1]:
            expected = {*code.co_varnames, *code.co_cellvars} - {".type_params", ".generic_base"}
            assert collect_bindings(node, class_name).bound == expected - _inlined(node, expected)


def _inlined(node: FunctionDefinition, locals_: set[str]) -> set[str]:
    """Return the comprehension variables that Python 3.12 counts among the function's own (PEP 709)."""
    if sys.version_info < (3, 12):
        return set()
    comprehensions = [part for part in ast.walk(node) if isinstance(part, ast.comprehension)]
    targets = {
        name.id
        for comprehension in comprehensions
        for name in ast.walk(comprehension.target)
        if isinstance(name, ast.Name)
    }
    return (targets & locals_) - collect_bindings(node, None).bound


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _functions(
    node: ast.AST, class_name: str | None
) -> Iterator[tuple[FunctionDefinition, str | None]]:
    if isinstance(node, FunctionDefinition):
        yield node, class_name
    for child in ast.iter_child_nodes(node):
        yield from _functions(child, node.name if isinstance(node, ast.ClassDef) else class_name)


# A program with one block, the name that is asked for, and the scope it is found in.
HOMES = {
    "local": ("def f():\n  x = 1\n  BLOCK", "f"),
    "parameter": ("def f(*, x): BLOCK", "f"),
    "rest": ("def f(*a, **x): BLOCK", "f"),
    "enclosing": ("def f(x):\n  def g(): BLOCK", "f"),
    "not through a class": ("x = 1\nclass C:\n  x = 2\n  def f(self): BLOCK", "<module>"),
    "own class": ("x = 1\nclass C:\n  x = 2\n  BLOCK", "C"),
    "class in a function": ("def f(x):\n class C: BLOCK", "f"),
    "nonlocal": ("def f(x):\n def g():\n  nonlocal x\n  x = 2\n  BLOCK", "f"),
    "global": ("x = 1\ndef f(x):\n def g():\n  global x\n  x = 1\n  BLOCK", "<module>"),
    "global around": ("def f():\n global x\n x = 1\n def g(): BLOCK", "<module>"),
    "comprehension": ("x = 1\ndef f(): \n y = [x for x in ()]\n BLOCK", "<module>"),
    "generator expression": ("x = 1\ndef f(): \n y = max(x for x in ())\n BLOCK", "<module>"),
    "walrus in a comprehension": ("def f():\n y = [x := i for i in ()]\n BLOCK", "f"),
    "walrus in a lambda": ("x = 1\ndef f():\n y = lambda: (x := 1)\n BLOCK", "<module>"),
    "walrus in a default": ("def f():\n def g(a=(x := 1)): pass\n BLOCK", "f"),
    "walrus in a decorator": ("def f():\n @(x := id)\n class g: pass\n BLOCK", "f"),
    "walrus in a guard": ("def f(v):\n match v:\n  case 1 if (x := v): pass\n BLOCK", "f"),
    "lambda parameter": ("x = 1\ndef f():\n y = lambda x: 1\n BLOCK", "<module>"),
    "import": ("def f():\n import x.y\n BLOCK", "f"),
    "import as": ("x = 1\ndef f():\n import x.y as z\n BLOCK", "<module>"),
    "from import": ("def f():\n from a import b as x\n BLOCK", "f"),
    "except as": ("def f():\n try: pass\n except ValueError as x: pass\n BLOCK", "f"),
    "except* as": ("def f():\n try: pass\n except* ValueError as x: pass\n BLOCK", "f"),
    "with": ("def f(a):\n with a as (b, [*x]): pass\n BLOCK", "f"),
    "for": ("def f(a):\n for a.b, x in a: pass\n BLOCK", "f"),
    "del": ("def f():\n BLOCK\n del x", "f"),
    "annotation": ("def f():\n BLOCK\n x: int", "f"),
    "annotated attribute": ("x = 1\ndef f(x_):\n x_.x: int = 3\n (x): int\n BLOCK", "f"),
    "augmented": ("def f():\n BLOCK\n x += 1", "f"),
    "match capture": ("def f(v):\n match v:\n  case [1, {'a': x}]: BLOCK", "f"),
    "match rest": ("def f(v):\n match v:\n  case {'a': 1, **x}: BLOCK", "f"),
    "match star": ("def f(v):\n match v:\n  case [1, *x]: BLOCK", "f"),
    "match as": ("def f(v):\n match v:\n  case (1 | 2) as x: BLOCK", "f"),
    "match class": ("def f(v):\n match v:\n  case P(a=x): BLOCK", "f"),
    "match value": ("x = 1\ndef f(v):\n match v:\n  case x.y: BLOCK", "<module>"),
    "attribute and item": ("x = 1\ndef f():\n x.a = x[0] = 1\n BLOCK", "<module>"),
    "inner function": ("def f():\n def x(): pass\n BLOCK", "f"),
    "inner class": ("def f():\n class x: pass\n BLOCK", "f"),
    "bound by another block": ("def f():\n '''natural\n <:x>\n '''\n def g(): BLOCK", "f"),
    "in every suite": (
        "def f():\n while 1:\n  try: pass\n  except A: pass\n  else: pass\n  finally:\n   x = 1\n BLOCK",
        "f",
    ),
}
if sys.version_info >= (3, 12):
    HOMES |= {
        "type parameter": ("def f[x](): BLOCK", "f"),
        "type parameter of a class": ("class C[x]:\n def f(self): BLOCK", "C"),
        "type alias": ("def f():\n type x = int\n BLOCK", "f"),
    }


@pytest.mark.parametrize("name", HOMES)
def test_home(name: str) -> None:
    program, expected = HOMES[name]
    text = program.replace("BLOCK", '"""natural\n<x>\n"""') + "\n"
    blocks = compile_text(text).blocks
    home: ResolvedName = resolve_name("x", blocks[-1].scope, collect_block_outputs(blocks))
    assert home.scope.name == expected
    kind = (
        TypeParameter if "type parameter" in name else Global if expected == "<module>" else Local
    )
    assert isinstance(home, kind)


@pytest.mark.parametrize(
    ("name", "class_name", "stored"),
    [
        ("__x", "Box", "_Box__x"),
        ("__x", "__Box", "_Box__x"),
        ("__x", "__", "__x"),
        ("__x__", "Box", "__x__"),
        ("_x", "Box", "_x"),
        ("__x", None, "__x"),
    ],
)
def test_mangled(name: str, class_name: str | None, stored: str) -> None:
    assert mangle(name, class_name) == stored
    assert unmangle(stored, class_name) == name


@pytest.mark.parametrize(
    ("program", "defined"),
    [
        ("BLOCK", False),
        ("from a import *\nBLOCK", True),
        ("def f():\n global x\n x = 1\nBLOCK", True),
        ("if TYPE_CHECKING:\n import x\nBLOCK", True),
        ("class C:\n x = 1\n def f(self): BLOCK", False),
        ("class C:\n x = 1\n BLOCK", True),
        ("y = [x for x in ()]\nBLOCK", False),
        ("def f():\n x = 1\nBLOCK", False),
    ],
)
def test_is_defined(program: str, defined: bool) -> None:
    text = textwrap.dedent(program).replace("BLOCK", '"""natural\n<x>\n"""') + "\n"
    compilation = compile_text(text)
    scope = compilation.blocks[0].scope
    assert is_defined("x", scope, {}) is defined
    assert ("NJ201" in {diagnostic.code for diagnostic in compilation.diagnostics}) is not defined


PLACES = r"""
@
x = 1; @
def f(): @\nf()
def f(k, *a, **b): x = 1; @\nf(1)
class C: x = 1; @
class C:\n def m(self): x = 1; @\nC().m()
def f(k):\n class C: y = 1; @\nf(1)
def f(k):\n class C:\n  y = 1\n  def m(self): @\n C().m()\nf(1)
[x for x in "a"]; @
any((y := x) for x in "a"); @
g = lambda x: x; @
import os.path as x, sys as y; @
import os.path, xml.dom; @
def f(): global x; x = 1\nf()\n@
def f():\n x = 1\n def g(): nonlocal x; @\n g()\nf()
x, *y = 1, 2; @
def f(x): pass\n@
class C: global x; x = 1; @
""".splitlines()[1:]
NAMES = ["x", "y", "k", "a", "e", "g", "f", "os", "xml", "print", "self", "copyright", "_"]
NAMES += [f"__{name}__" for name in ("name", "doc", "debug", "dict", "class", "module", "qualname")]
NAMES += [f"__{name}__" for name in ("init", "hash", "import", "builtins", "slots", "bases")]


@pytest.mark.parametrize("place", PLACES)
def test_the_defined_names_are_those_of_cpython(place: str) -> None:
    program = place.replace("\\n", "\n") + "\n"
    for name in NAMES:
        text = program.replace("@", f'"""natural\n<{name}>\n"""')
        found = compile_text(text).diagnostics
        reported = {each.message for each in found if each.code == "NJ201"}
        try:
            exec(program.replace("@", name), {"__name__": "p", "__doc__": None})
        except NameError:
            assert reported, name
        else:
            assert not reported, name


def test_module_names_and_builtins_are_defined() -> None:
    text = '"""natural\n<__name__> <__file__> <ValueError>\n"""\n'
    text += 'class C:\n def f(self):\n  """natural\n  <__class__> <super>\n  """\n'
    assert find_codes(text) == []
