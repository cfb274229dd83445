"""A program that cannot be compiled: each command that imports it reports its findings and exits with 1."""

from __future__ import annotations

import pytest
from workplace import MISSPELT, Workplace


@pytest.mark.parametrize(
    "command",
    [
        "eval wrong.njpy:greet cases.jsonl",
        "batch wrong.njpy:greet cases.jsonl --out results.jsonl",
        "debug wrong.njpy",
        "run wrong.njpy",
    ],
)
def test_findings_are_reported(here: Workplace, command: str) -> None:
    case = '{"inputs": {"name": "Ida"}, "expect": "Hello Ida"}\n'
    here.write({"wrong.njpy": MISSPELT, "cases.jsonl": case})
    output = here.njc(*command.split(), code=1).output
    assert "error[NJ201]: `nmae` is not defined here" in output
    assert "Traceback" not in output
