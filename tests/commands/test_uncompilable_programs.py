"""A program that cannot be compiled: each command that imports it reports its findings and exits with 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from njc.commands import njc

PROGRAM = '''\
def route(mail: str) -> str:
    """natural
    Put into <:team: str> the team for <mial>.
    """
    return team
'''


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "{target}", "{cases}"],
        ["batch", "{target}", "{cases}", "--out", "{folder}/results.jsonl"],
        ["debug", "{program}"],
        ["run", "{program}"],
    ],
    ids=lambda words: words[0],
)
def test_findings_are_reported(words: list[str], tmp_path: Path) -> None:
    program, cases = tmp_path / f"wrong_{tmp_path.name}.njpy", tmp_path / "cases.jsonl"
    program.write_text(PROGRAM)
    cases.write_text(json.dumps({"inputs": {"mail": "Hello"}, "expect": "sales"}) + "\n")
    places = {"target": f"{program}:route", "program": program, "cases": cases, "folder": tmp_path}
    result = CliRunner().invoke(njc, [word.format(**places) for word in words])
    assert result.exit_code == 1
    assert "error[NJ201]: `mial` is not defined here" in result.output
    assert "Traceback" not in result.output
