"""Mutants of right programs: one token differs, the tests notice it, and the same seed makes the same ones."""

from __future__ import annotations

import ast
import difflib
import io
import json
import tokenize
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from njc.measure.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.cli import main
from spsbench.repair.mutants import list_mutations
from spsbench.repair.problems import parse_repair_problems

PROGRAM = """\
def find(items, low=1):
    # é < 3: no token of the program
    total = 0
    for index in range(len(items)):
        if items[index] >= low and not (index == 2) or None is items:
            total += items[index] * 2  # ü
    return "a < b" if total not in (7, -1) else True
"""
ROWS = [
    {"task_id": 1, "text": "Double.", "code": "def double(n):\r\n\treturn n * 2", "test_list": ["assert double(3) == 6"]},
    {"task_id": 2, "text": "Wrong.", "code": "def wrong(n): return n - 1", "test_list": ["assert wrong(3) == 6"]},
    {"task_id": 3, "text": "Unnoticed.", "code": "def same(n): return n", "test_list": ["assert same(3) == 3"]},
    {"task_id": 4, "text": "Loop.\nFor ever.", "code": "def down(n):\n    while n > 0:\n        n = n - 1\n    return n", "test_list": ["assert down(3) == 0"]},
]  # fmt: skip


def split_tokens(code: str) -> list[str]:
    return [token.string for token in tokenize.generate_tokens(io.StringIO(code).readline)]


def test_a_mutation_changes_one_operator_or_constant() -> None:
    mutations = list_mutations(PROGRAM)
    assert {each.kind for each in mutations} == {"comparison", "operator", "logic", "constant"}
    before = split_tokens(PROGRAM)
    for mutation in mutations:
        ast.parse(mutation.code)
        after = split_tokens(mutation.code)
        changed = [
            tag
            for tag in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            if tag[0] != "equal"
        ]
        assert len(changed) == 1, mutation
        lines = [
            number
            for number, (old, new) in enumerate(
                zip(PROGRAM.splitlines(), mutation.code.splitlines(), strict=True), 1
            )
            if old != new
        ]
        assert lines == [mutation.line]
    assert len({each.code for each in mutations}) == len(mutations)


def make(folder: Path, *options: str, rows: list[dict[str, object]] = ROWS) -> tuple[Result, str]:
    data, out = folder / "mbpp.jsonl", folder / "mutants.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)) + "\n")
    made = CliRunner().invoke(main, ["mutants", str(data), "--out", str(out), *options])
    return made, out.read_text() if out.exists() else ""


def test_the_tests_notice_each_mutant_and_pass_the_right_program(tmp_path: Path) -> None:
    made, text = make(tmp_path, "--each", "9", "--test-seconds", "1")
    assert made.exit_code == 0, made.output
    problems = list(parse_repair_problems(text.splitlines()))
    assert {problem.name.partition("-")[0] for problem in problems} == {"mbpp/1", "mbpp/4"}
    assert {problem.kind for problem in problems} <= {"mbpp, operator", "mbpp, constant", "mbpp, comparison"}  # fmt: skip
    for problem in problems:
        assert problem.code.startswith("# ")
        failed = run_tests(problem.code, problem.tests)
        assert isinstance(failed, FailedTests)
        assert "seconds" not in failed.problem
        assert run_tests(problem.correct, problem.tests) == PassedTests()


def test_the_seed_decides(tmp_path: Path) -> None:
    first = make(tmp_path, "--seed", "1")[1]
    assert first == make(tmp_path, "--seed", "1")[1]
    texts = {make(tmp_path, "--seed", str(seed))[1] for seed in range(6)}
    assert len(texts) > 1


@pytest.mark.parametrize("row", [{"task_id": 1}, {"task_id": 1, "text": "", "code": "def", "test_list": []}])  # fmt: skip
def test_a_line_of_another_format_is_named(tmp_path: Path, row: dict[str, object]) -> None:
    made, _ = make(tmp_path, rows=[ROWS[0], row])
    assert made.exit_code == 2
    assert "line 2 is not of MBPP" in made.output
