"""Text tables that fit a width: first columns are left out, then texts are cut.

    run  block         calls  seconds  outcome
      1  mail.njpy:14      1     2.31  completed
      2    mail.njpy:30    1     0.84  raised KeyError: 'x'

rich's tables take about a millisecond per row, and a trace can have a hundred thousand rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from njrt.data.records import record

GAP = 2


@record
class TableColumn:
    """A column. Columns with the lowest `rank` are left out first; those without a rank, never.

    The texts in a column that `can_shrink` are cut if there is still not enough room.
    """

    name: str
    is_number: bool = False
    rank: int | None = None
    can_shrink: bool = False


def format_table(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width: int | None
) -> Iterator[str]:
    """Yield a table's lines, header first, at most `width` terminal columns wide if it is given."""
    widths = [
        max([len(column.name), *(measure_text(row[index]) for row in rows)])
        for index, column in enumerate(columns)
    ]
    kept = list(range(len(columns)))
    if width is not None:
        least = [min(size, 16) if columns[i].can_shrink else size for i, size in enumerate(widths)]
        for rank in sorted({column.rank for column in columns if column.rank is not None}):
            if sum(least[index] + GAP for index in kept) - GAP > width:
                kept = [index for index in kept if columns[index].rank != rank]
        shrinkable = [index for index in kept if columns[index].can_shrink]
        excess = sum(widths[index] + GAP for index in kept) - GAP - width
        while excess > 0 and shrinkable:
            widest = max(shrinkable, key=lambda index: widths[index])
            if widths[widest] <= 4:
                break
            widths[widest] -= 1
            excess -= 1
    for row in [[column.name for column in columns], *rows]:
        cells = [fit_text(row[index], widths[index], columns[index].is_number) for index in kept]
        yield (" " * GAP).join(cells).rstrip()


def fit_text(text: str, width: int, is_number: bool) -> str:
    """Return a text of exactly this width, padded with spaces or cut with an ellipsis."""
    text = cut_text(text, width)
    blanks = " " * (width - measure_text(text))
    return blanks + text if is_number else text + blanks


def cut_text(text: str, width: int) -> str:
    """Return a text at most `width` wide; if it is cut, it ends with an ellipsis."""
    if measure_text(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += measure_text(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept) + "…"


def measure_text(text: str) -> int:
    """Return the number of terminal columns that a text takes up."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1
        for character in text
    )
