"""The errors of experiments as messages of their commands.

with report_problems(BadProblemError):     a BadProblemError, or a damaged file of results, ends the command
    run(...)                               with one line and exit code 1
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from njrt.errors import ConfigurationError
from spsbench.journal import JournalError
from spsbench.results import DamagedResultsError
from spsbench.trials.schedule import OtherConditionsError
from spsbench.trials.workers import NoWorkersError


@contextmanager
def report_problems(*more: type[Exception]) -> Iterator[None]:
    """End the command with a message for the errors of experiments, and for `more`."""
    known = (ConfigurationError, DamagedResultsError, JournalError, NoWorkersError)
    problems: tuple[type[Exception], ...] = (*known, OtherConditionsError, *more)
    try:
        yield
    except problems as problem:
        raise click.ClickException(str(problem)) from None
