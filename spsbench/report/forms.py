"""A table as text, as Markdown and as CSV.

format_table_as_text(table)        aligned columns, for a terminal
format_table_as_markdown(table)    for a document; measurements are bold
format_tables_as_csv(tables)       a line for each cell with a number: table, row, column, source, mean, sd, low, high
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from njc.evaluation.comparison import text as comparison_text
from spsbench.report.tables import Table, TableRow

CSV_COLUMNS = ("table", "row", "column", "source", "text", "mean", "sd", "low", "high")


def format_table_as_text(table: Table) -> str:
    """Return the table with aligned columns, numbers to the right."""
    lines = [[cell.text for cell in row.cells] for row in table.rows]
    laid_out = comparison_text.format_text_table(table.columns, lines, table.labels)
    notes = (f"  {note}" for note in table.notes)
    return "\n".join([f"{table.name}. {table.title}", "", laid_out, *notes])


def format_table_as_markdown(table: Table) -> str:
    """Return the table for a Markdown document."""
    rules = ("---" if index < table.labels else "---:" for index in range(len(table.columns)))
    lines = [
        f"### {table.name}. {table.title}",
        "",
        _format_markdown_row(table.columns),
        _format_markdown_row(rules),
        *(_format_markdown_row(_format_markdown_cells(row)) for row in table.rows),
        *(part for note in table.notes for part in ("", note)),
    ]
    return "\n".join(lines)


def _format_markdown_row(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _format_markdown_cells(row: TableRow) -> Iterable[str]:
    is_ours = row.source == "measured"
    return (f"**{cell.text}**" if is_ours and cell.text else cell.text for cell in row.cells)


def format_tables_as_csv(tables: Iterable[Table]) -> str:
    """Return a line for each number of the tables."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for table in tables:
        for row in table.rows:
            label = " / ".join(cell.text for cell in row.cells[: table.labels])
            for column, cell in list(zip(table.columns, row.cells, strict=True))[table.labels :]:
                if (cell.mean, cell.low) != (None, None):
                    source = column.partition(":")[0] if row.source == "both" else row.source
                    numbers = (cell.mean, cell.sd, cell.low, cell.high)
                    writer.writerow(
                        (
                            f"{table.name}",
                            label,
                            column,
                            source,
                            cell.text,
                            *map(_format_number, numbers),
                        )
                    )
    return out.getvalue()


def _format_number(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"
