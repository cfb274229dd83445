"""The remarks on a migration, one for each place that needs a look.

mail.py:12: note: `<br>` is markup, so it is written `<<br>`
mail.py:30: todo: `nj.NJ_TELEMETRY` has no equivalent; `njrt.watch()` counts calls, tokens and cost
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Remark:
    """A remark on a line of the old program; `is_open` if something is left to do by hand."""

    line: int
    message: str
    is_open: bool = True

    def __str__(self) -> str:
        return f"{'todo' if self.is_open else 'note'}: {self.message}"
