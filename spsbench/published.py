"""Figures that others have published, for comparison with our measurements; they are in published.toml.

PUBLISHED_TABLES[4]                            PublishedTable(4, "All 25 programs, ...", columns=("model", ...), rows=...)
METHOD_BY_PAPER_NAME["Nightjar (Baseline)"]    "baseline", the method of ours that does the same
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from njrt.typed_json import validate_value


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of the paper; its words for models and methods, our words for columns."""

    number: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """A pass rate of a form of a suite, in per cent."""

    suite: str
    model: str
    form: str
    rate: float
    source: str


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """The file of figures."""

    title: str
    """Of the paper."""
    lines_of_code: Mapping[str, float]
    """Means of the natural and the manual programs, and the change in percent."""
    methods: Mapping[str, str]
    """The paper's methods, by its names in any of its tables, as ours."""
    tables: tuple[PublishedTable, ...]
    suites: tuple[PublishedRate, ...]


PUBLISHED: PublishedFigures = validate_value(
    tomllib.loads(files("spsbench").joinpath("published.toml").read_text(encoding="utf-8")),
    PublishedFigures,
)
PUBLISHED_TABLES: Mapping[int, PublishedTable] = {table.number: table for table in PUBLISHED.tables}
METHOD_BY_PAPER_NAME = PUBLISHED.methods
