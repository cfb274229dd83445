"""Published figures from published.toml, for comparison with our measurements.

PUBLISHED_TABLES[4]                            PublishedTable(4, "All 25 programs, ...", rows=...)
METHOD_BY_PAPER_NAME["Nightjar (Baseline)"]    "baseline", our equivalent method
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from njrt.values.dataclass_json import validate_value


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of the paper, with its names for models and methods and our names for columns."""

    number: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class PublishedFigures:
    """The contents of the file of figures."""

    title: str
    """The title of the paper."""
    lines_of_code: Mapping[str, float]
    """The means of the natural and the manual programs, and the change in percent."""
    methods: Mapping[str, str]
    """Our methods, by the names that the paper's tables have for them."""
    tables: tuple[PublishedTable, ...]


PUBLISHED: PublishedFigures = validate_value(
    tomllib.loads(files("spsbench").joinpath("published.toml").read_text(encoding="utf-8")),
    PublishedFigures,
)
PUBLISHED_TABLES: Mapping[int, PublishedTable] = {table.number: table for table in PUBLISHED.tables}
METHOD_BY_PAPER_NAME = PUBLISHED.methods
