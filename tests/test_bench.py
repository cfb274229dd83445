"""The commands of bench/: what they say without a model, and what `state_as_data.py` measures."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import njrt

BENCH = Path(__file__).parents[1] / "bench"


@pytest.mark.parametrize(
    "name", ["agent_quality", "contracts", "prompt_size", "state_as_data", "tuning"]
)
def test_a_command_that_needs_a_model_says_what_to_give(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NJC_")}
    command = [sys.executable, str(BENCH / f"{name}.py")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{name}: ")


@pytest.fixture(scope="module")
def state_as_data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("state_as_data", BENCH / "state_as_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class Item:
    name: str
    parts: list[str]
    weight: float = 1.0


def test_the_new_state_is_merged_into_the_objects_of_the_old_one(state_as_data: ModuleType) -> None:
    lamp, chair = Item("lamp", ["bulb"]), Item("chair", ["leg"])
    items, parts = [lamp, chair], lamp.parts
    new = [Item("lamp", ["bulb", "shade"], 2.0), Item("table", [])]
    assert state_as_data.merge(items, new) is items
    assert items == new
    assert items[0] is lamp
    assert lamp.parts is parts
    assert items[1] is new[1]
    for old, after in (({"a": 1, "b": 2}, {"b": 3, "c": 4}), ({1, 2}, {2, 3}), ([1, 1], [2])):
        assert state_as_data.merge(old, after) is old
        assert old == after


def find_program(state_as_data: ModuleType, name: str) -> Any:
    programs = state_as_data.list_programs()
    return next(program for program in programs if program.name == name)


def test_a_right_state_passes_the_checks_and_no_change_does_not(state_as_data: ModuleType) -> None:
    urgent = find_program(state_as_data, "urgent")
    texts = [
        "How do I change the colour of the background?",
        "The shop is down and nobody can pay!",
        "A typing error on the page about us.",
    ]
    lost = [
        "We lost all data of our customers, help!",
        "There is smoke in the server room, come at once.",
    ]

    def answer(texts: list[str], marked: set[int]) -> str:
        tickets = [
            {"number": number, "text": text, "urgent": number in marked}
            for number, text in enumerate(texts, start=1)
        ]
        return json.dumps({"tickets_after": tickets})

    right = njrt.Scripted([answer(texts, {2}), answer(lost, {1, 2})])
    line = state_as_data.play(urgent, "state", right)
    assert list(line["checks"].values()) == [True, True], line
    unchanged = njrt.Scripted([answer(texts, set()), answer(lost, set())])
    line = state_as_data.play(urgent, "state", unchanged)
    assert list(line["checks"].values()) == [False, False], line


def test_each_program_compiles_in_both_forms(state_as_data: ModuleType) -> None:
    for program in state_as_data.list_programs():
        for form in state_as_data.FORMS:
            source = program.write(form)
            assert ("merge(" in source) is (form == "state"), program.name
            state_as_data.load(source, f"{program.name}_{form}")


def test_the_documented_table_is_that_of_the_results(state_as_data: ModuleType) -> None:
    results = "spsbench/results/state/qwen2.5-coder-1.5b.jsonl"
    page = (BENCH.parent / "docs/reference/tuning.md").read_text(encoding="utf-8")
    table = page.partition(f"--show {results}\n")[2].partition("```")[0]
    lines = state_as_data.read_results(BENCH.parent / results)
    assert table == state_as_data.format_table(lines) + "\n"
    tokens = {
        form: sum(line["tokens"] for line in lines if line["form"] == form)
        for form in ("code", "state")
    }
    seconds = {
        form: sum(line["seconds"] for line in lines if line["form"] == form)
        for form in ("code", "state")
    }
    assert f"{tokens['state'] / tokens['code']:.1f} times the tokens" in page
    assert seconds["state"] > seconds["code"]
