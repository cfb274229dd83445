"""The output of the commands: results go to stdout, everything else to stderr.

-qq    nothing but the exit code
-q     errors
       and what was done
-v     and what was done to each file, and whole tracebacks
"""

from __future__ import annotations

import re
import shutil
import sys
import time
import traceback
from dataclasses import dataclass

import click

from njrt.errors import NaturalError

_SEVERITY = re.compile(r"\b(?:(error)|(warning)|(help|note|hint))(\[NJ\d+\])?: ")
_CARET = re.compile(r"^( +\|[ \t]*)(\^+)$", re.MULTILINE)
_PROGRESS_DELAY = 0.5
"""Seconds of work before progress is shown."""


@dataclass(slots=True)
class Console:
    """How much to print; one object for the group and its commands, so flags may stand before or after the name."""

    verbosity: int = 0

    def result(self, text: str) -> None:
        """Print the result."""
        if text:
            click.echo(colorize(text))

    def findings(self, text: str) -> None:
        """Print what is wrong."""
        if text and self.verbosity > -2:
            click.echo(colorize(text), err=True)

    def error(self, error: NaturalError) -> None:
        """Print why the command fails: the message, or with -v the traceback."""
        if self.verbosity > 0:
            self.findings("".join(traceback.format_exception(error)).rstrip())
        else:
            place = f"{error.place}: " if error.place and error.place not in str(error) else ""
            self.findings(f"error: {place}{error}")

    def note(self, text: str) -> None:
        """Print what was done."""
        if text and self.verbosity > -1:
            click.echo(text, err=True)

    def print_detail(self, text: str) -> None:
        """Print what was done to one file."""
        if self.verbosity > 0:
            click.echo(text, err=True)


class ProgressLine:
    """Counts files on one line of a terminal, if the work takes long."""

    def __init__(self, console: Console, activity: str) -> None:
        self._activity = activity
        self._shown = False
        self._is_enabled = console.verbosity > -1 and sys.stderr.isatty()
        self._begin = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Show the count, and remove the line at the end."""
        if not self._is_enabled or (
            not self._shown and time.monotonic() - self._begin < _PROGRESS_DELAY
        ):
            return
        self._shown = True
        line = f"{self._activity} {done}/{of}" if done < of else ""
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)


def get_output_width() -> int | None:
    """Return the columns of the terminal that results go to; None if they go elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def colorize(text: str) -> str:
    """Color the severities and carets of findings; click removes colors where they are off."""
    text = _SEVERITY.sub(_colorize_severity, text)
    return _CARET.sub(lambda match: match[1] + click.style(match[2], fg="red", bold=True), text)


def _colorize_severity(match: re.Match[str]) -> str:
    color = "red" if match[1] else "yellow" if match[2] else "cyan"
    return click.style(match[0].rstrip(" :"), fg=color, bold=True) + ": "
