"""Text tables, with numbers where known, rendered as text, CSV, and Markdown by templates/table.md.

table = make_text_table(("model", "passed"), [("local", "0.71")])
format_table(table)               aligned columns, numbers to the right
format_table_as_text(table)       the same with name, title and notes
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from njc.evaluation.comparison.text import format_text_table

RowSource = Literal["paper", "measured", "both"]
CSV_COLUMNS = ("table", "row", "column", "source", "text", "mean", "sd", "low", "high")


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and its numbers if any: a mean, and a standard deviation or a range."""

    text: str
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table row, with a cell for each column."""

    source: RowSource
    cells: tuple[Cell, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(cell.text for cell in self.cells)


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
    measured = (TableRow("measured", tuple(map(Cell, row))) for row in rows)
    return Table(name, title, columns, labels, tuple(measured), notes)


def format_table(table: Table) -> str:
    """Return the columns and the rows, aligned, numbers to the right."""
    return format_text_table(table.columns, [row.texts for row in table.rows], table.labels)


def format_table_as_text(table: Table) -> str:
    """Return the table with its title and its notes."""
    notes = (f"  {note}" for note in table.notes)
    return "\n".join([f"{table.name}. {table.title}", "", format_table(table), *notes])


def format_tables_as_csv(tables: Iterable[Table]) -> str:
    """Return a line for each number of the tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for row in table.rows:
            label = " / ".join(row.texts[: table.labels])
            for column, cell in list(zip(table.columns, row.cells, strict=True))[table.labels :]:
                if (cell.mean, cell.low) != (None, None):
                    source = column.partition(":")[0] if row.source == "both" else row.source
                    numbers = (
                        "" if number is None else f"{number:.6g}"
                        for number in (cell.mean, cell.sd, cell.low, cell.high)
                    )
                    writer.writerow((table.name, label, column, source, cell.text, *numbers))
    return out.getvalue()
