"""The commands of bench/: what they say without a model, and what `state_as_data.py` measures."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.evaluation.cases.case_file import read_cases
from spsbench.methods import METHODS
from spsbench.trials.playing import build_program

BENCH = Path(__file__).parents[1] / "bench"
TRAINING = BENCH.parent / "spsbench/results/training/qwen2.5-coder-1.5b.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        *("agent_quality", "best_forms", "contracts", "program_cases", "prompt_size"),
        *("self_training", "state_as_data", "tuning"),
    ],
)
def test_a_command_that_needs_a_model_says_what_to_give(name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NJC_")}
    command = [sys.executable, str(BENCH / f"{name}.py")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{name}: ")


def load_command(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def state_as_data() -> ModuleType:
    return load_command("state_as_data")


@pytest.fixture(scope="module")
def self_training() -> ModuleType:
    return load_command("self_training")


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


@pytest.mark.slow
def test_the_documented_turns_of_training_are_those_of_the_results(
    self_training: ModuleType,
) -> None:
    results = TRAINING.relative_to(BENCH.parent).as_posix()
    page = (BENCH.parent / "docs/spsbench-repair.md").read_text(encoding="utf-8")
    table = page.partition(f"--show {results}\n")[2].partition("```")[0]
    lines = self_training.read_lines(TRAINING)
    assert table == self_training.format_table(lines) + "\n"
    text = " ".join(page.split())
    earlier = {"trace": 0, "test": 0}
    rows = []
    for line in sorted(
        (line for line in lines if line["kind"] == "training"),
        key=lambda line: (line["turn"], line["condition"] == "test"),
    ):
        condition, turn = line["condition"], line["turn"]
        assert line["sampled"] == turn * 1258 == turn * 2 * 629
        new, earlier[condition] = line["passed"] - earlier[condition], line["passed"]
        rows.append(
            f"| {turn} | `{condition}` | {new} | {line['repairs']} | {line['seconds']:.0f} |\n"
        )
    assert "".join(rows) in page

    def count(turn: int, condition: str, key: str) -> int:
        return sum(
            line[key]
            for line in lines
            if line["kind"] == "problem" and (line["turn"], line["condition"]) == (turn, condition)
        )

    assert (
        f"in {count(0, 'trace', 'copying_steps')} of {count(0, 'trace', 'samples')} replies before training and in "
        f"{count(2, 'trace', 'copying_steps')} after two turns, and {count(0, 'trace', 'at_limit')} replies end at "
        f"the limit of tokens ({count(0, 'test', 'at_limit')} without"
    ) in text
    rates = {
        (
            turn,
            condition,
        ): f"{count(turn, condition, 'passed_complete') / count(turn, condition, 'complete'):.2f}"
        for turn in (0, 1, 2)
        for condition in ("trace", "test")
    }
    assert (
        f"{rates[0, 'trace']} pass with traces and {rates[0, 'test']} without before training; {rates[1, 'trace']} and "
        f"{rates[1, 'test']} after one turn, and {rates[2, 'trace']} and {rates[2, 'test']} after two."
    ) in text


def test_the_documented_lead_of_the_second_turn_is_that_of_the_results(
    self_training: ModuleType,
) -> None:
    passes = self_training.group_turns(
        self_training.read_lines(TRAINING), lambda line: (line["turn"], line["condition"])
    )
    traced, plain = (
        self_training.format_lead(passes[2, condition], passes[1, condition])
        for condition in ("trace", "test")
    )
    text = " ".join((BENCH.parent / "docs/spsbench-repair.md").read_text(encoding="utf-8").split())
    assert f"{traced} to the first with traces and {plain} without" in text


def test_the_figures_on_the_page_of_prediction_are_those_of_the_training(
    self_training: ModuleType,
) -> None:
    lines = self_training.read_lines(TRAINING)

    def compute_rate(turn: int, condition: str) -> str:
        found = [
            line["passed"] / line["samples"]
            for line in lines
            if line["kind"] == "problem" and line["group"] == "humanevalfix"
            if (line["turn"], line["condition"]) == (turn, condition)
        ]
        return f"{fmean(found):.2f}"

    page = (BENCH.parent / "docs/prediction.md").read_text(encoding="utf-8")
    text = " ".join(page.split())
    traced, plain = compute_rate(0, "trace"), compute_rate(0, "test")
    assert f"of HumanEvalFix, {traced} passed with traces, and {plain} without;" in text
    traced, plain = compute_rate(2, "trace"), compute_rate(2, "test")
    assert f"as in NExT, {traced} and {plain}." in text


def test_repairs_to_train_on_are_right_different_and_few_of_each_problem(
    self_training: ModuleType,
) -> None:
    def attempt(problem: str, text: str, passed: bool = True) -> Any:
        return self_training.Attempt(problem, text, passed, 10, 10)

    reply = "The sign is wrong.\n\n```python\nreturn {}\n```"
    attempts = [
        *(attempt("a", reply.format(number % 3)) for number in range(9)),
        attempt("b", reply.format(1), passed=False),
        attempt("c", "```python\nreturn 1\n```"),  # has no rationale
        attempt("d", reply.format(1)),
    ]
    chosen = self_training.choose_repairs(attempts, each=2, most=10, seed=0)
    assert sorted(each.problem for each in chosen) == ["a", "a", "d"]
    assert len({(each.problem, each.text) for each in chosen}) == 3
    assert len(self_training.choose_repairs(attempts, each=2, most=1, seed=0)) == 1


def test_a_program_is_tested_once_however_often_it_is_proposed(self_training: ModuleType) -> None:
    problem = self_training.RepairProblem(
        "p", "def f(x):\n    return x - 1\n", "assert f(1) == 2\n", "f", ""
    )
    judge = self_training.Judge({"p": problem}, 5.0)
    right = "It subtracts.\n\n```python\ndef f(x):\n    return x + 1\n```"
    first, again = judge.submit("p", right), judge.submit("p", right)
    assert first is again
    assert first.result(timeout=60) is True
    assert judge.submit("p", problem.code).result(timeout=60) is False


@pytest.fixture(scope="module")
def best_forms() -> ModuleType:
    return load_command("best_forms")


def test_the_documented_forms_of_programs_are_those_of_the_results(best_forms: ModuleType) -> None:
    results = "spsbench/results/repeats/forms-qwen2.5-coder-1.5b.jsonl"
    page = (BENCH.parent / "docs/spsbench.md").read_text(encoding="utf-8")
    found = best_forms.read_forms(BENCH.parent / results)
    report = best_forms.format_report(
        [best_forms.choose_forms(name, found[name]) for name in sorted(found)]
    )
    assert (
        page.partition(f"bench/best_forms.py {results}\n")[2].partition("```")[0] == report + "\n"
    )

    tokens = [
        fmean(forms[name].tokens for forms in found.values())
        for name in ("natural-text", "natural")
    ]
    assert f"at {tokens[0] / tokens[1]:.1f} times the tokens" in " ".join(page.split())


def test_a_form_is_chosen_by_the_other_cases_and_within_its_tokens(best_forms: ModuleType) -> None:
    def make(first: float, second: float, tokens: float) -> Any:
        return best_forms.FormResult({"first": first, "second": second}, tokens)

    choice = best_forms.choose_forms(
        "p",
        {
            "natural": make(0.5, 0.0, 100.0),
            "natural-ask": make(0.5, 1.0, 200.0),
            "natural-text": make(1.0, 1.0, 201.0),
        },
    )
    # The first case gets the form that is best on the second one; equal forms are the default.
    assert choice.forms == ["natural-ask", "natural"]
    assert (choice.default, choice.chosen, choice.tokens) == (0.25, 0.25, 1.5)


def test_the_cases_of_programs_are_read_by_njc_eval(tmp_path: Path) -> None:
    load_command("program_cases").write_cases(tmp_path)
    programs = sorted(path.parent.name for path in tmp_path.glob("*/natural.njpy"))
    assert len(programs) == 6
    for program in programs:
        counts = [
            len(read_cases(tmp_path / program / f"{name}.jsonl")) for name in ("choose", "check")
        ]
        assert 20 <= sum(counts) <= 30
        assert 0 <= counts[1] - counts[0] <= 1


def test_a_tuned_program_has_the_examples_of_its_lock(tmp_path: Path) -> None:
    def show_constants(method: str) -> str:
        program = build_program("sentiment", METHODS[method], tmp_path)
        assert program is not None
        return repr(program.sentiment_of.__code__.co_consts)

    assert "The box measures 30 by 40 centimetres." in show_constants("natural-tuned")
    assert "The box measures" not in show_constants("natural")
