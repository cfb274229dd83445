"""Natural code in notebooks: cells are run by a real kernel, and compiled by themselves.

Those of docs/reference/editors.md are among them.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from kernels import KERNEL, kernels  # noqa: F401

import njrt
from njc.editors.notebook.extension import UNMARKED, CellError, compile_cell, load
from njrt.data.options import Options
from njrt.testing import Scripted, run

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(__file__).parents[4]

REPLIES = """\
import njrt, threading
from njrt.testing import Scripted, run
model = Scripted([
    {"total": 12}, run("shown.append(total)", done=True), {"n": 5}, {"m": 7}, run("1 / 0", done=True),
    run("later = prices[0]", done=True),
])
"""

CELLS: list[tuple[str, dict[str, str]]] = [
    ("%load_ext njc", {}),
    (REPLIES, {}),
    ("%njpy using model=model", {}),
    ("prices = (3, 4, 5)\nshown = []", {}),
    (
        'prices: tuple[int, ...] = (3, 4, 5)\n"""natural\nNot compiled without the magic: <nothing>.\n"""\nprices',
        {"text/plain": "(3, 4, 5)"},
    ),
    (
        "\n# the sum\n%%njpy\nprices: tuple[int, ...] = (3, 4, 5)\n"
        '"""natural\nPut the sum of <prices> into <:total: int>.\n"""',
        {},
    ),
    ("%njpy trace", {"stdout": "In[6]:4  scripted  completed"}),
    ("%njpy on", {}),
    (
        '!echo from the shell\n"""natural\nAppend <total> to <shown>.\n"""\nshown',
        {"stdout": "from the shell", "text/plain": "[12]"},
    ),
    (
        'import asyncio\nawait asyncio.sleep(0)\nasync def f(x: int) -> int:\n    """natural\n'
        '    Put <x> plus one into <:n: int>.\n    """\n    return n\nawait f(4)',
        {"text/plain": "5"},
    ),
    (
        '%%time\n%%njpy\ndef g(x: int) -> int:\n    """natural\n    Put <x> into <:m: int>.\n    """\n    return m\n'
        "print('g', g(7))",
        {"stdout": "g 7"},
    ),
    (
        'def h(prices):\n    """natural(max_calls=1)\n    Look at <prices>.\n    """\n\n\nh(prices)',
        {"error": "natural block at In[12]:2"},
    ),
    ('"""natural\nPut the first of <prices> into <:later>.\n"""\nlater', {"text/plain": "3"}),
    (
        'text = "a"\n\n"""natural(max_efects=3)\nPut <text> into <:n: int>.\n"""',
        {"stderr": "In[14]:3", "error": "InputRejected"},
    ),
    (
        '"""natural\nPut the sum of <pricess> into <:total>.\n"""',
        {"stderr": "did you mean `prices`?", "error": "InputRejected"},
    ),
    ("for i in range(3:", {"error": "SyntaxError"}),
    ("len?", {}),
    (
        "async def same(x): return x\nlimit = 1\nmodel = Scripted(lambda request: {'n': 6})",
        {},
    ),
    ("%njpy using model=model, calls={same}, max_calls=limit  # no more", {}),
    ("%njpy using model=model, max_calls=limit  # no more", {}),
    (
        'get_ipython().run_cell("1")\nx: int = 1\n"""natural\nPut <x> into <:n: int>.\n"""\nn',
        {"text/plain": "6"},
    ),
    (
        'get_ipython().run_cell("")\nx: int = 1\n"""natural\nPut <x> into <:n: int>.\n"""\nn',
        {"text/plain": "6"},
    ),
    ("%njpy bogus", {"stderr": "usage: %njpy on|off|trace"}),
    ("%njpy using modle=1", {"error": "modle"}),
    ("%njpy off", {}),
    ('"""natural\nNot compiled: <nothing>.\n"""', {"text/plain": "natural"}),
]


def read_outputs(cell: Any) -> dict[str, str]:
    """What a cell has shown: by stream, by MIME type, or its error with its traceback."""
    shown: dict[str, str] = {}
    for output in cell.outputs:
        match output.output_type:
            case "stream":
                shown[output.name] = shown.get(output.name, "") + output.text
            case "error":
                shown["error"] = f"{output.ename} {output.evalue}\n" + "\n".join(output.traceback)
            case _:
                shown |= output.data
    return shown


@pytest.mark.usefixtures("kernels")
def test_cells_in_a_kernel() -> None:
    cells = [nbformat.v4.new_code_cell(source) for source, _ in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook,
        timeout=100,
        kernel_name=KERNEL,
        allow_errors=True,
        resources={"metadata": {"path": str(ROOT)}},
    )
    client.execute()
    for cell, (source, expected) in zip(cells, CELLS, strict=True):
        shown = read_outputs(cell)
        assert ("error" in shown) == ("error" in expected), f"{source}\n{shown}"
        for kind, text in expected.items():
            assert text in shown[kind], f"{source}\n{shown}"


def test_the_value_of_a_block_is_not_shown() -> None:
    text = 'x = 1\n"""natural\nPrint <x>.\n"""\n'
    tree = compile_cell(text, "In[1]", Options(), ()).tree
    assert isinstance(tree.body[-1], ast.Pass)
    checked = text.replace("Print <x>", "Set <:x> to 2") + "assert x == 2\n"
    assert isinstance(compile_cell(checked, "In[1]", Options(), ()).tree.body[-1], ast.Pass)
    for last in ("x", "x.run(1)", "subprocess.run(['true'])"):
        tree = compile_cell(text + last, "In[1]", Options(), ()).tree
        assert isinstance(tree.body[-1], ast.Expr)


def test_a_coding_comment_of_a_cell_has_no_effect() -> None:
    text = "# coding: latin-1\nx = 'é'\n'''natural\nPut <x> into <:y>.\n'''\n"
    assert "x = 'é'" in ast.unparse(
        compile_cell(text, "In[3]", Options(), ["x", "a", "f", "class", "a b"]).tree
    )


@pytest.mark.parametrize(
    "text",
    [
        '"""natural\nPut <x> into <:y>.\n"""',
        'await f()\n"""natural\nPut <x> into <:y>.\n"""',
        'async with a:\n    """natural\n    Put <x> into <:y>.\n    """',
        'from __future__ import annotations\n"""natural\nPut <x> into <:y>.\n"""',
        '"""natural\nPut <x> into <:y>.\n""" # at the end',
        '"""natural\nPut <x> into <:y>.\n"""\n# at the end',
    ],
)
def test_a_cell_may_read_variables_of_earlier_cells(text: str) -> None:
    cell = compile_cell(text, "In[3]", Options(), ["x", "a", "f", "class", "a b"])
    assert cell.blocks == 1
    assert "__main__" not in ast.unparse(cell.tree)
    compile(cell.tree, "In[3]", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('"""natural\nPut <x> into <:2y>.\n"""\nreturn 3', "In[3]:4"),
        ('x = 1\n"""natural(mode="fast")\nPut <x> into <:y>.\n"""', "In[3]:2"),
    ],
)
def test_what_is_wrong_is_said_with_the_line_of_the_cell(text: str, place: str) -> None:
    with pytest.raises(CellError, match=place.replace("[", r"\[")):
        compile_cell(text, "In[3]", Options(), ["x", "a", "f", "class", "a b"])


UNBOUND = {
    '"""natural\nPut the sum of <pricess> into <:total: int>.\n"""': "prices",
    '"""natural\nUse <price.net> for <:y: int>.\n"""': "prices",
    'def f():\n    """natural\n    Put <shwn> into <:y>.\n    """\n    return y': "shown",
    'for prce in prices:\n    """natural\n    Put <prcee> into <:y>.\n    """': "prce",
    '"""natural\nPut it into <:y: list[Crat]>.\n"""': "Cart",
    '"""natural(max_efects=1)\nPut <pricess> into <:y>.\n"""': "max_effects",
}
"""Cells that read a name which neither they nor the shell binds, and the names that they are told."""


@pytest.mark.parametrize("text", UNBOUND)
def test_a_name_that_the_shell_does_not_bind_is_an_error(text: str) -> None:
    with pytest.raises(CellError, match=f"did you mean `{UNBOUND[text]}`"):
        compile_cell(text, "In[3]", Options(), ["prices", "shown", "Cart"])


@pytest.mark.parametrize(
    "text",
    [
        'get_ipython().run_line_magic("run", "a.py")\n"""natural\nRead <later>, or return.\n"""',
        'from a import *\n"""natural\nRead <later> for <:y: int>.\n"""',
        '# njc: ignore[NJ201]\n"""natural\nRead <later> for <:y: int>.\n"""',
        '"""natural\nRead <prices> and <<later> for <:y: int>.\n"""',
        'import math\n"""natural\nRead <math> and <ValueError> for <:y: int>.\n"""',
        '"""natural\nPut 1 into <:y: int>.\n"""\n"""natural\nRead <y> for <:z: int>.\n"""',
    ],
)
def test_a_name_that_the_cell_or_the_shell_may_bind_is_read(text: str) -> None:
    assert compile_cell(text, "In[3]", Options(), ["prices"]).blocks


def test_a_name_is_checked_before_a_model_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    load(shell).is_on = True
    shell.run_cell("prices = [1, 2]")
    block = '"""natural\nPut the sum of <{}> into <:total: int>.\n"""'
    for name in ("pricess", "prices"):
        model = Scripted([{"needs_code": "a sum"}, run("total = sum(prices)", done=True)])
        with njrt.using(model=model):
            result = shell.run_cell(block.format(name))
        assert result.success == (name == "prices"), capsys.readouterr()
        assert bool(model.requests) == result.success
    assert "did you mean `prices`?" in capsys.readouterr().err
    shell.run_cell(block.format("prices").replace("natural", "naturl"))
    assert "is nearly a marker" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cell", "is_reported"),
    [
        ('"""natural\nPut a number into <:n>.\n"""', True),
        ('if 1:\n    """natural\n    Put a number into <:n>.\n    """', True),
        ("n = 1", False),
        ('x = "natural"', False),
    ],
)
def test_natural_code_in_a_cell_that_is_not_marked_is_reported(
    cell: str, is_reported: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    load(shell)
    shell.run_cell(cell)
    assert (UNMARKED in capsys.readouterr().err) == is_reported
