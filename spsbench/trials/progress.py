"""The progress of a run: a table that is updated on a terminal, or a line for each trial elsewhere.

[ 23/150] menu direct 1: 4/4 checks, 12.3 s, $0.0131 (about 9 min left) [ 24/150] menu manual 1: 2/4
checks, 4.0 s, $0.0042 (wrong result: not so: without: two ramens ..., about 9 min left)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import mean
from typing import Any, NamedTuple

import click

from spsbench.results import group_by

show_message = partial(click.echo, err=True)
ShowResult = Callable[[Any, float], None]
"""Called with each result, and the estimated seconds until the last result."""


class ProgressRow(NamedTuple):
    """The progress of one method: means over its trials so far; seconds include the build."""

    method: str
    done: int
    of: int
    pass_rate: float | None
    seconds: float | None


class RunProgress:
    """The progress of a run (state: its results so far)."""

    def __init__(self, trials: Sequence[Any], results: Iterable[Any]) -> None:
        wanted = set(trials)
        self.trials = trials
        self.results = {result.trial: result for result in results if result.trial in wanted}

    @property
    def left(self) -> int:
        """The number of trials without a result."""
        return len(self.trials) - len(self.results)

    def add(self, result: Any) -> None:
        self.results[result.trial] = result

    def make_rows(self) -> tuple[ProgressRow, ...]:
        rows = []
        for method, trials in group_by(self.trials, lambda trial: trial.method).items():
            done = [result for result in self.results.values() if result.method == method]
            rate = mean(result.share for result in done) if done else None
            seconds = mean(result.seconds for result in done) if done else None
            rows.append(ProgressRow(method, len(done), len(trials), rate, seconds))
        return tuple(rows)

    def format_status(self, seconds_left: float | None = None) -> str:
        """Return a line about all results, with the time left if it is known and trials remain."""
        costs = [result.cost for result in self.results.values()]
        parts = [f"{len(self.results)} of {len(self.trials)} trials"]
        priced = [cost for cost in costs if cost is not None]
        if any(priced):
            parts.append(f"${sum(priced):.2f}")
        if None in costs:
            parts.append("cost unknown")
        if seconds_left is not None and self.left:
            parts.append(f"about {format_time_left(seconds_left)} left")
        return ", ".join(parts)

    def format_result(self, result: Any, seconds_left: float | None = None) -> str:
        """Return a line about the last result, with the time left if trials remain."""
        done, total = len(self.results), len(self.trials)
        verdict, details = result.describe()
        rest = "" if seconds_left is None else f"about {format_time_left(seconds_left)} left"
        details = ", ".join(filter(None, (details, rest if done < total else "")))
        line = f"[{done:{len(str(total))}}/{total}] {result}: {verdict}"
        return f"{line} ({details})" if details else line


def format_time_left(seconds: float) -> str:
    """Return a duration as text."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Pace:
    """How fast results arrive (state: when the running jobs began, and how long others took)."""

    def __init__(self, read_clock: Callable[[], float]) -> None:
        self._read_clock = read_clock
        self._taken: dict[Hashable, float] = {}
        self._seconds = 0.0
        self._ended = 0
        self._most = 1

    def begin(self, trial: Hashable) -> None:
        self._taken[trial] = self._read_clock()
        self._most = max(self._most, len(self._taken))

    def end(self, trial: Hashable) -> None:
        self._seconds += self._read_clock() - self._taken.pop(trial)
        self._ended += 1

    def estimate_seconds_left(self, left: int) -> float:
        """Estimate the time until `left` jobs have ended; call this only after a job has ended."""
        now, mean = self._read_clock(), self._seconds / self._ended
        running = sum(max(0.0, mean - (now - taken)) for taken in self._taken.values())
        waiting = mean * (left - len(self._taken))
        return (running + waiting) / max(1, min(self._most, left))


@contextmanager
def show_lines(
    progress: RunProgress, echo: Callable[[str], None] = show_message
) -> Iterator[ShowResult]:
    """Print each result as a line."""

    def show(result: Any, seconds_left: float) -> None:
        progress.add(result)
        echo(progress.format_result(result, seconds_left))

    yield show


@contextmanager
def show_table(progress: RunProgress) -> Iterator[ShowResult]:
    """Update a table after each result; failed trials are printed above it."""
    from rich.console import Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    def draw(seconds_left: float | None = None) -> Group:
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column("method")
        for name in ("trials", "pass rate", "seconds"):
            table.add_column(name, justify="right")
        for row in progress.make_rows():
            rate = "" if row.pass_rate is None else f"{row.pass_rate:.2f}"
            seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
            table.add_row(row.method, f"{row.done}/{row.of}", rate, seconds)
        return Group(table, Text(progress.format_status(seconds_left)))

    with Live(draw(), refresh_per_second=4) as live:

        def show(result: Any, seconds_left: float) -> None:
            progress.add(result)
            if result.failure:
                live.console.print(Text(progress.format_result(result), style="dim"))
            live.update(draw(seconds_left))

        yield show
