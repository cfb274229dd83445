"""The lines that a measurement wrote, as the tables of docs/comparison.md.

    results.jsonl  ──read_lines──>  [Line]  ──write_tables──>  {"installed": "| | njc ...", ...}  ──fill_page──>  page

A table stands on the page between `<!-- table: NAME -->` and `<!-- end of the table -->`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from peer_cases import SUBJECTS, read_cases

ROOT = Path(__file__).parents[2]
LINES = Path(__file__).with_name("results.jsonl")
PAGE = ROOT / "docs" / "comparison.md"
COLUMNS = ("njpy", "nightjarpy", "nighthawk")
SIZES = (1, 100, 10_000, 100_000)
PACKAGES = {"nighthawk": "nighthawk-python"}

Line = Mapping[str, Any]
Results = Mapping[tuple[str, str, str], str]
"""By subject, case and library."""


def read_lines() -> list[Line]:
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def write_tables(lines: Iterable[Line]) -> dict[str, str]:
    """Each table of the page, by its name."""
    lines = list(lines)
    installed = {line["library"]: line for line in lines if line["kind"] == "environment"}
    costs = {(line["library"], line["objects"]): line for line in lines if line["kind"] == "cost"}
    results = {
        (line["subject"], line["name"], line["library"]): line["result"]
        for line in lines
        if line["kind"] == "case"
    }
    return {
        "installed": write_installed(installed),
        "cost": write_costs(costs, COLUMNS, (SIZES[0], SIZES[-1])),
        "counts": write_counts(results),
        "choices": write_choices(results),
    }


def write_installed(installed: Mapping[str, Line]) -> str:
    columns = ("njpy-runtime", *COLUMNS)
    rows = {
        "version": lambda line: line["versions"].get(
            PACKAGES.get(line["library"], line["library"])
        ),
        "Python": lambda line: line["python"],
        "size, MB": lambda line: f"{line['megabytes']:.0f}",
        "distributions": lambda line: line["distributions"],
        "import, ms": lambda line: f"{line['import_ms'] - line['bare_ms']:.0f}",
        "a process with one prompt, ms": lambda line: (
            f"{line['block_ms']:.0f}" if "block_ms" in line else ""
        ),
    }
    body = [[name, *(make(installed[column]) for column in columns)] for name, make in rows.items()]
    return write_table(["", *columns], body)


def write_costs(
    costs: Mapping[tuple[str, int], Line], columns: Sequence[str], sizes: Sequence[int]
) -> str:
    body = []
    for size in sizes:
        for name, make in {
            "model calls": lambda line: line["calls"],
            "other requests": lambda line: line["requests"] - line["calls"],
            "prompt tokens": lambda line: f"{line['tokens']:,}",
            "processor, ms": lambda line: f"{line['cpu_ms']:,.0f}",
        }.items():
            cells = [costs[column, size] for column in columns]
            texts = [line["error"] if "error" in line else make(line) for line in cells]
            body.append([f"{size:,}" if name == "model calls" else "", name, *texts])
    return write_table(["objects", "", *columns], body)


def write_counts(results: Results) -> str:
    body = []
    for title, subjects in {
        "cases from the language reference": SUBJECTS,
        "positions": ("positions",),
    }.items():
        names = [(subject, case.name) for subject in subjects for case in read_cases(subject)]
        cells = []
        for column in COLUMNS:
            counted = Counter(results[*name, column] for name in names)
            cells.append(", ".join(f"{count} {result}" for result, count in counted.most_common()))
        body.append([f"{title} ({len(names)})", *cells])
    return write_table(["", *COLUMNS], body)


def write_choices(results: Results) -> str:
    """The cases in which the libraries differ and Python demands nothing: whether it is so."""
    body = []
    for case in read_cases("choices"):
        found = [results["choices", case.name, column] == "right" for column in COLUMNS]
        if len(set(found)) > 1:
            body.append([case.rule, *("yes" if is_so else "no" for is_so in found)])
    return write_table(["", *COLUMNS], body)


def write_table(head: Sequence[object], body: Iterable[Sequence[object]]) -> str:
    """A table of Markdown, in which the compiler has its own name, not that of its distribution."""
    names = {"njpy": "njc", "njpy-runtime": "njc's runtime"}
    rows = [[names.get(str(name), name) for name in head], ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows).replace("|  |", "| |")


def fill_page(page: str, tables: Mapping[str, str]) -> str:
    """The page with these tables in their places; each must have one."""
    for name, table in tables.items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end of the table -->"
        before, found, rest = page.partition(begin)
        assert found, name
        page = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return page
