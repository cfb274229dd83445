"""Mutants of right programs: one operator or constant is another one.

    list_mutations("def low(a): return a < 3")
        Mutation("comparison", 1, "def low(a): return a <= 3"), Mutation("constant", 1, "def low(a): return a < 4")

    read_mbpp({"task_id": 2, "text": "...", "code": "...", "test_list": [...]})      RightProgram("MBPP/2", ...)

The text around a mutation stays as it is. MBPP-R in the NExT paper (section 4) has solutions of a model that fail in place of mutants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

COMPARISONS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*", "//": "/", "%": "//", "**": "*"}
_OPERATOR = re.compile(r"//|\*\*|[-+*/%]")
_COMPARISON = re.compile(r"not\s+in|is\s+not|[<>=!]=|[<>]|\bin\b|\bis\b")
_LOGIC = re.compile(r"\b(and|or)\b")


@dataclass(frozen=True, slots=True)
class RightProgram:
    """A program that passes its tests."""

    name: str
    text: str
    """The task."""
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
    """Read a line of MBPP; raises LookupError, TypeError or SyntaxError for something else."""
    code = "\n".join(row["code"].splitlines()).expandtabs(4).strip() + "\n"
    tests = "\n".join([row.get("test_setup_code", ""), *row["test_list"]]).strip() + "\n"
    names = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    called = [node.id for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Name)]
    entry = next((name for name in called if name in names), "")
    return RightProgram(f"MBPP/{row['task_id']}", row["text"].strip(), code, tests, entry)


def list_mutations(code: str) -> list[Mutation]:
    """Return all mutations of a program, in the order of its text."""
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
            yield "constant", begin(node), end(node), re.compile(r"\d+"), {str(number): str(number + 1)}  # fmt: skip
        case _:
            pass
