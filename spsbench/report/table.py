"""Tables of texts, rendered as text, and as Markdown by templates/table.md.

table = make_text_table(("model", "passed"), [("local", "0.71")])
format_table(table)               aligned columns, numbers to the right
format_table_as_text(table)       the same with name, title and notes
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from njc.measure.comparison.text import format_text_table

RowSource = Literal["paper", "measured", "both"]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table row, with a cell for each column."""

    source: RowSource
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. The first `labels` columns name the row; the others are measurements."""

    name: str
    title: str
    columns: tuple[str, ...]
    labels: int
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()


def make_text_table(
    columns: tuple[str, ...],
    rows: Iterable[Sequence[str]],
    labels: int = 1,
    title: str = "",
    name: str = "",
    notes: tuple[str, ...] = (),
) -> Table:
    """Return a table of texts that were measured here."""
    measured = (TableRow("measured", tuple(row)) for row in rows)
    return Table(name, title, columns, labels, tuple(measured), notes)


def format_table(table: Table) -> str:
    """Return the columns and the rows, aligned, numbers to the right."""
    return format_text_table(table.columns, [row.texts for row in table.rows], table.labels)


def format_table_as_text(table: Table) -> str:
    """Return the table with its title and its notes."""
    notes = (f"  {note}" for note in table.notes)
    return "\n".join([f"{table.name}. {table.title}", "", format_table(table), *notes])
