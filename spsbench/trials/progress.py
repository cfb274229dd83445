"""The progress of a run: a line for each trial.

[ 23/150] menu direct 1: 4/4 checks, 12.3 s, $0.0131 (about 9 min left) [ 24/150] menu manual 1: 2/4
checks, 4.0 s, $0.0042 (wrong result: not so: without: two ramens ..., about 9 min left)
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import click

show_message = partial(click.echo, err=True)


class RunProgress:
    """The progress of a run (state: how many trials have a result)."""

    def __init__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self._before, self._began = done, time.monotonic()

    def show(self, result: Any) -> None:
        """Print a result, with the time left at the mean pace if trials remain."""
        self.done += 1
        seconds = (time.monotonic() - self._began) / (self.done - self._before)
        left = self.total - self.done
        verdict, details = result.describe()
        rest = f"about {format_time_left(seconds * left)} left" if left > 0 else ""
        details = ", ".join(filter(None, (details, rest)))
        line = f"[{self.done:{len(str(self.total))}}/{self.total}] {result}: {verdict}"
        show_message(f"{line} ({details})" if details else line)


def format_time_left(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
