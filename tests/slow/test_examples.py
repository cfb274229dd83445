"""The examples on their recordings: offline, what the recorded model said is what comes out again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from processes import run_python

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "last_line"),
    [
        ("tickets", "technical  The app crashes when I open the settings page."),
        ("rules", "['level', 'rotor', 'noon']"),
        ("mailbox", "2 of 3 mails are worth reading"),
        (
            "order",  # the model takes the thanks for an order
            "Order(customer='Ida Berg', lines=[Line(article='The teapots', quantity=1)])",
        ),
        ("citations", "paper 14 is now cited by [3, 8, 20]"),
        ("wrong_citations", "paper 14 is now cited by [3, 8]"),  # the model adds a wrong paper
    ],
)
def test_an_example_replays_without_model_and_network(name, last_line):
    record = f"none:{ROOT / 'examples' / 'recordings' / name}.jsonl"
    program = ROOT / "compiled_out" / "examples" / f"{name}.py"
    done = run_python(str(program), env={**os.environ, "NJC_RECORD": record}, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == last_line
