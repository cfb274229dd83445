"""Which control statements are legal where, and what is a block: tables with CPython as their oracle."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from compiling import compile_output, compile_text

DATA = Path(__file__).parent.parent / "data"
LABELS = json.loads((DATA / "label_cases.json").read_text())
POSITIONS = json.loads((DATA / "position_cases.json").read_text())
STATEMENTS = {
    "break": "break",
    "continue": "continue",
    "return": "return",
    "return_value": "return 1",
}


@pytest.mark.parametrize("case", LABELS, ids=lambda case: f"{case['name']}-{case['block_index']}")
def test_labels(case: dict[str, Any]) -> None:
    compilation = compile_text(case["source"])
    block = compilation.blocks[case["block_index"]]
    assert list(block.labels) == case["labels"]
    assert list(block.labels_exiting_finally) == case["pep765_exits_finally"]


@pytest.mark.parametrize("case", LABELS, ids=lambda case: f"{case['name']}-{case['block_index']}")
def test_labels_agree_with_this_python(case: dict[str, Any]) -> None:
    block = compile_text(case["source"]).blocks[case["block_index"]]
    for label, statement in STATEMENTS.items():
        program = case["source"].replace(block.literal, statement, 1)
        assert _compiles(program, strict=False) == (label in block.labels), label


@pytest.mark.parametrize("case", LABELS, ids=lambda case: f"{case['name']}-{case['block_index']}")
def test_arms_compile_without_warnings(case: dict[str, Any]) -> None:
    silenced = "# njc: ignore[NJ211]\n" + case["source"]
    assert _compiles(compile_output(silenced).decode(), strict=True)


@pytest.mark.parametrize("case", POSITIONS, ids=lambda case: case["name"])
def test_positions(case: dict[str, Any]) -> None:
    compilation = compile_text(case["source_latin1"].encode("latin-1"))
    fatal = [
        diagnostic
        for diagnostic in compilation.diagnostics
        if diagnostic.code in ("NJ101", "NJ102")
    ]
    if case["blocks"] == "error":
        assert fatal
        assert compilation.output is None
    else:
        assert not fatal
        assert len(compilation.blocks) == case["blocks"]


@pytest.mark.parametrize("case", POSITIONS, ids=lambda case: case["name"])
def test_what_is_a_block_compiles(case: dict[str, Any]) -> None:
    silenced = b"" if case["name"] == "latin-1 cookie" else b"# njc: ignore\n"
    data = case["source_latin1"].encode("latin-1")
    compilation = compile_text(silenced + data)
    if compilation.output is not None:
        assert _compiles(compilation.output, strict=True)
        assert compilation.output.count(b"_nj.run(") == len(compilation.blocks)


def _compiles(program: str | bytes, strict: bool) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore")
        try:
            compile(program, "case.py", "exec")
        except SyntaxError:
            return False
    return True
