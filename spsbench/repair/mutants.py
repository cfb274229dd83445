"""Buggy programs for `spsbench repair`, made from the right programs of MBPP.

mbpp.jsonl -> read_mbpp -> list_mutations -> the tests notice? -> mutants.jsonl, as HumanEvalFix
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from njc.measure.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.journal import naming, read_data_file
from spsbench.results import parse_json_lines


def write_mutants(
    data: Path, out: Path, sample: int | None, seed: int, each: int, test_seconds: float
) -> str:
    """Write the mutants of an MBPP file, and return the number of each kind as text."""
    with naming(data):
        lines, _ = read_data_file(data)
        programs = list(parse_json_lines(lines, lambda _, row: read_mbpp(row), "not of MBPP"))
    Random(seed).shuffle(programs)
    kinds: Counter[str] = Counter()
    with out.open("w", encoding="utf-8") as file:
        for program in programs[:sample]:
            chosen = find_noticed(program, Random(f"{seed} {program.name}"), each, test_seconds)
            for number, (mutation, failure) in enumerate(chosen, 1):
                file.write(format_mutant(program, mutation, failure, number) + "\n")
                kinds[mutation.kind] += 1
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    return f"{out}: {kinds.total()} mutants of {len(programs[:sample])} programs: {counts}"


def find_noticed(
    program: RightProgram, random: Random, most: int, seconds: float
) -> Iterator[tuple[Mutation, FailedTests]]:
    """Yield the mutations that a program's tests detect, in random order."""
    if not isinstance(run_tests(program.code, program.tests, seconds), PassedTests):
        return
    mutations = list_mutations(program.code)
    random.shuffle(mutations)
    found = 0
    for mutation in mutations:
        outcome = run_tests(mutation.code, program.tests, seconds)
        if isinstance(outcome, FailedTests) and outcome.test and not outcome.is_unended:
            yield mutation, outcome
            found += 1
        if found == most:
            return


def format_mutant(
    program: RightProgram, mutation: Mutation, failure: FailedTests, number: int
) -> str:
    """Return a mutant as a line in HumanEvalFix format; the task is a comment above the program."""
    task = "".join(f"# {line}\n" for line in program.text.splitlines())
    return json.dumps(
        {
            "task_id": f"{program.name}-{number}",
            "prompt": task,
            "buggy_solution": mutation.code,
            "canonical_solution": program.code,
            "test": program.tests,
            "entry_point": program.entry_point,
            "bug_type": mutation.kind,
            "line": mutation.line,
            "failure": failure.problem,
        }
    )


# ── mutants of right programs ─────────────────────────────────────────────────────────────────────


_OPPOSITES = (("<", "<="), (">", ">="), ("==", "!="), ("in", "not in"), ("is", "is not"))
COMPARISONS = dict(pair for one, other in _OPPOSITES for pair in ((one, other), (other, one)))
OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "**": "*"}
_OPERATOR = re.compile(r"//|\*\*|[-+*/%]")
_COMPARISON = re.compile(r"not\s+in|is\s+not|[<>=!]=|[<>]|\bin\b|\bis\b")
_LOGIC = re.compile(r"\b(and|or)\b")


@dataclass(frozen=True, slots=True)
class RightProgram:
    """A program that passes its tests."""

    name: str
    text: str
    """The description of the task."""
    code: str
    tests: str
    entry_point: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """A program with one mutation."""

    kind: str
    """comparison, operator, logic or constant"""
    line: int
    code: str


def read_mbpp(row: Mapping[str, Any]) -> RightProgram:
    """Read a line of MBPP; raises LookupError, TypeError or SyntaxError for anything else."""
    code = "\n".join(row["code"].splitlines()).expandtabs(4).strip() + "\n"
    tests = "\n".join([row.get("test_setup_code", ""), *row["test_list"]]).strip() + "\n"
    names = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    called = [node.id for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Name)]
    entry = next((name for name in called if name in names), "")
    return RightProgram(f"MBPP/{row['task_id']}", row["text"].strip(), code, tests, entry)


def list_mutations(code: str) -> list[Mutation]:
    """Return all mutations of a program, in source order."""
    lines = [line.encode() for line in code.splitlines(keepends=True)]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    text = code.encode()
    found: list[tuple[int, Mutation]] = []
    for node in ast.walk(ast.parse(code)):
        for kind, begin, end, pattern, table in _list_places(node, starts):
            match = pattern.search(text[begin:end].decode())
            if match is None or (new := table.get(" ".join(match[0].split()))) is None:
                continue
            at = begin + len(text[begin:end].decode()[: match.start()].encode())
            mutated = text[:at] + new.encode() + text[at + len(match[0].encode()) :]
            number = text.count(b"\n", 0, at) + 1
            found.append((at, Mutation(kind, number, mutated.decode())))
    return [mutation for _, mutation in sorted(found, key=lambda each: each[0])]


_Place = tuple[str, int, int, re.Pattern[str], Mapping[str, str]]


def _list_places(node: ast.AST, starts: list[int]) -> Iterator[_Place]:
    """Yield each place of a possible mutation: kind, range, pattern and replacements."""

    def begin(part: ast.expr) -> int:
        return starts[part.lineno - 1] + part.col_offset

    def end(part: ast.expr) -> int:
        assert part.end_lineno is not None
        assert part.end_col_offset is not None
        return starts[part.end_lineno - 1] + part.end_col_offset

    match node:
        case ast.Compare(left=left, comparators=[right]):
            yield "comparison", end(left), begin(right), _COMPARISON, COMPARISONS
        case ast.BinOp(left=left, right=right):
            yield "operator", end(left), begin(right), _OPERATOR, OPERATORS
        case ast.AugAssign(value=value, target=ast.Name() as target):
            yield "operator", end(target), begin(value), _OPERATOR, OPERATORS
        case ast.BoolOp(values=[*values]):
            for left, right in pairwise(values):
                yield "logic", end(left), begin(right), _LOGIC, {"and": "or", "or": "and"}
        case ast.Constant(value=bool() as truth):
            other = {str(truth): str(not truth)}
            yield "constant", begin(node), end(node), re.compile(r"True|False"), other
        case ast.Constant(value=int(number)) if abs(number) < 10**9:
            yield (
                "constant",
                begin(node),
                end(node),
                re.compile(r"\d+"),
                {str(number): str(number + 1)},
            )
