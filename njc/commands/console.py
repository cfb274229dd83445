"""Where the commands write, and how much: results to stdout, all else to stderr.

-q     errors only                 -qq    nothing but the exit code
       what was done
-v     what was done to each file, and tracebacks in full
"""

from __future__ import annotations

import re
import sys
import time
import traceback
from dataclasses import dataclass

import click

from njrt.errors import NaturalError

_SEVERITY = re.compile(r"\b(?:(error)|(warning)|(help|note))(\[NJ\d+\])?: ")
_CARET = re.compile(r"^( +\|[ \t]*)(\^+)$", re.MULTILINE)
_PROGRESS_DELAY = 0.5
"""Seconds of work before progress is shown."""


@dataclass(slots=True)
class Console:
    """How much to say; the group and its commands share one, so flags may stand before or after the name."""

    verbosity: int = 0

    def result(self, text: str) -> None:
        """Print what the command was asked for."""
        if text:
            click.echo(colorize(text))

    def findings(self, text: str) -> None:
        """Tell what is wrong."""
        if text and self.verbosity > -2:
            click.echo(colorize(text), err=True)

    def error(self, error: NaturalError) -> None:
        """Tell in one message why the work ends here, or with -v in the whole traceback."""
        if self.verbosity > 0:
            self.findings("".join(traceback.format_exception(error)).rstrip())
        else:
            place = f"{error.place}: " if error.place and error.place not in str(error) else ""
            self.findings(f"error: {place}{error}")

    def note(self, text: str) -> None:
        """Tell what was done."""
        if text and self.verbosity > -1:
            click.echo(text, err=True)

    def print_detail(self, text: str) -> None:
        """Tell what was done to one file."""
        if self.verbosity > 0:
            click.echo(text, err=True)


class ProgressLine:
    """Counts on one line of a terminal, once the work turns out to be long."""

    def __init__(self, console: Console, what: str) -> None:
        self._what = what
        self._shown = False
        self._wanted = console.verbosity > -1 and sys.stderr.isatty()
        self._begin = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Show how far the work has come, and wipe the line at its end."""
        if not self._wanted or (not self._shown and self._get_elapsed_seconds() < _PROGRESS_DELAY):
            return
        self._shown = True
        line = f"{self._what} {done}/{of}" if done < of else ""
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def _get_elapsed_seconds(self) -> float:
        return time.monotonic() - self._begin


def colorize(text: str) -> str:
    """Color the severities and carets of rendered findings; click takes colors out where none are wanted."""
    text = _SEVERITY.sub(_colorize_severity, text)
    return _CARET.sub(lambda match: match[1] + click.style(match[2], fg="red", bold=True), text)


def _colorize_severity(match: re.Match[str]) -> str:
    color = "red" if match[1] else "yellow" if match[2] else "cyan"
    return click.style(match[0].rstrip(" :"), fg=color, bold=True) + ": "
