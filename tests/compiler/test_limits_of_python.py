"""Every output is Python, wherever a block stands; what Python cannot compile is a finding."""

from __future__ import annotations

import itertools

import pytest

from compiling import compile_output, compile_text

BLOCK = '"""natural\n<int> <:out>, or break and return\n"""'
WITHOUT_JUMPS = '"""natural\n<int> <:out>\n"""'

HEADS = [
    "",
    '"""Doc."""\n',
    '"""Doc.\n\nMore."""; ',
    "from __future__ import annotations\n",
    "from __future__ import annotations; ",
    '"""Doc."""; from __future__ import annotations\n',
    '"""Doc."""; from __future__ import annotations; ',
    '"""Doc."""; from __future__ import (\n annotations,\n); x = 1\n',
    '"""Doc."""; \\\nfrom __future__ import annotations # c\n',
    "import a; import b\n",
    "# -*- coding: utf-8 -*-\n",
]
SUITES = [
    f"{BLOCK}\n",
    f"{BLOCK}; {BLOCK}\n",
    f"def f(x): {BLOCK}\n",
    f"class C: {BLOCK}\n",
    f"class C:\n  @staticmethod\n  def f(x): {BLOCK}\n",
    f"if x: {BLOCK}\nelif (y and\n z): {BLOCK}\nelse: {BLOCK}\n",
    f"for x in (1,\n2): {BLOCK}\nelse: {BLOCK}\n",
    f"async def f():\n\tasync with x as y: {BLOCK}\n",
    f"def f(x):\n match x:\n  case 1: {BLOCK}\n  case (\n case_y.x |\n    case.z): {BLOCK}\n  case[2]: {BLOCK}\n",
    f"match x:\n\tcase y if (\ncase): {BLOCK}\n\tcase _: {BLOCK}\n",
    f"try: {BLOCK}\nexcept E: {BLOCK}\nelse: {BLOCK}\nfinally: {BLOCK}\n",
    f"while x: {BLOCK}; y = 1; z = 2\n",
]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("head", "suite"), list(itertools.product(HEADS, SUITES)))
def test_output_is_python(head: str, suite: str, newline: str) -> None:
    if head.endswith("; ") and not suite.startswith('"""'):
        head = head.removesuffix("; ") + "\n"
    text = "# njc: ignore\n" + head + suite
    compile(compile_output(text.replace("\n", newline)), "p.py", "exec")


PROGRAMS = [
    "def f():\n nonlocal out\n {block}\n",
    "def f():\n def g():\n  nonlocal out\n  out = 1\n {block}\n",
    "def f():\n def g():\n  nonlocal other\n  other = 1\n {block}\n",
    "def f():\n {block}\n global out\n",
    "def f():\n global out\n {block}\n",
    "def f():\n out = 1\n def g():\n  nonlocal out\n  {block}\n  nonlocal out\n",
    "def f(out):\n global out\n {block}\n",
    "class C:\n {block}\n return 1\n",
    "class C:\n {block}\n def g(self):\n  nonlocal out\n",
    "{block}\nfrom __future__ import annotations\n",
    '"""Doc."""\n{block}\nfrom __future__ import annotations\n',
    "from __future__ import annotations\n{block}\nfrom __future__ import division\n",
    "{block}\nreturn out\n",
    "def f():\n {block}\n break\n",
    "def f():\n {block}\n await x\n",
    "async def f():\n {block}\n yield out\n return out\n",
    "def f():\n {block}\n out: str\n",
    "def f():\n {block}\n __debug__ = out\n",
    "for out in ():\n {block}\nelse:\n continue\n",
    "try: pass\nexcept* ValueError:\n {block}\n return\n",
    "match x:\n case out:\n  {block}\n case _: pass\n case _: pass\n",
    "def f(a, a):\n {block}\n",
]


@pytest.mark.parametrize("block", [BLOCK, WITHOUT_JUMPS])
@pytest.mark.parametrize("program", PROGRAMS)
def test_only_what_python_compiles_has_output(program: str, block: str) -> None:
    """The call of a block is left out of the check by Python's compiler: it must not hide an error."""
    compilation = compile_text(f"# njc: ignore\n{program.format(block=block)}")
    if compilation.output is not None:
        compile(compilation.output, "p.py", "exec")
    else:
        assert any(item.severity == "error" for item in compilation.diagnostics)


@pytest.mark.parametrize("depth", [3, 17, 20, 21, 97, 99])
@pytest.mark.parametrize("header", ["for y in x:", "while x:", "with x:", "if x:"])
def test_nesting_that_python_does_not_compile_is_a_finding(header: str, depth: int) -> None:
    rows = ["def f(x):", *("    " * level + header for level in range(1, depth + 1))]
    text = "\n".join([*rows, "    " * (depth + 1) + WITHOUT_JUMPS, ""])
    compilation = compile_text(f"# njc: ignore\n{text}")
    errors = [item for item in compilation.diagnostics if item.severity == "error"]
    try:
        compile(text, "p.py", "exec")
    except SyntaxError:
        assert [item.code for item in errors] == ["NJ001"]
    else:
        assert not errors
        assert compilation.output is not None


def test_a_system_error_of_python_is_a_finding() -> None:
    text = f"class C:\n  x = [lambda: __class__ for _ in ()]\ndef f(x):\n {WITHOUT_JUMPS}\n return out\n"
    try:  # Python 3.12 and 3.13 cannot compile the lambda
        compile(text, "p.py", "exec")
        fails = False
    except SystemError:
        fails = True
    compilation = compile_text(text)
    codes = [each.code for each in compilation.diagnostics if each.severity == "error"]
    assert (codes != [], compilation.output is None) == (fails, fails)
