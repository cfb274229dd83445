"""The commands' output: results go to stdout, everything else to stderr.

-qq    nothing but the exit code
-q     errors
       and a summary
-v     and a line for each file, and the tracebacks of failed models, limits and recordings
"""

from __future__ import annotations

import functools
import json
import math
import os
import re
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from njrt.errors import ConfigurationError, NaturalError

_SEVERITY = re.compile(r"\b(?:(error)|(warning)|(help|note|hint))(\[NJ\d+\])?: ")
_CARET = re.compile(r"^( +\|[ \t]*)(\^+)$", re.MULTILINE)
INTERRUPTED_EXIT_CODE = 130
"""128 + SIGINT, as in shells."""


@dataclass(slots=True)
class Console:
    """How much to print; shared by the group and its commands, so that flags may follow either."""

    verbosity: int = 0

    def result(self, text: str) -> None:
        if text:
            print_result(text)

    def json(self, value: object) -> None:
        """Print a result as JSON, never coloured."""
        click.echo(json.dumps(value, indent=2))

    def findings(self, text: str) -> None:
        """Print findings."""
        if text and self.verbosity > -2:
            click.echo(colorize(text), err=True)

    def error(self, error: NaturalError) -> None:
        """Print the failure: the message, or with -v a traceback if it is not the user's error."""
        if self.verbosity > 0 and error.exit_code != ConfigurationError.exit_code:
            self.findings("".join(traceback.format_exception(error)).rstrip())
        else:
            place = f"{error.place}: " if error.place and error.place not in str(error) else ""
            self.findings(f"error: {place}{error}")

    def note(self, text: str) -> None:
        """Print a note about the command's work."""
        if text and self.verbosity > -1:
            click.echo(text, err=True)

    def print_detail(self, text: str) -> None:
        """Print a note about a file."""
        if self.verbosity > 0:
            click.echo(text, err=True)


def print_result(line: str) -> None:
    """Print to standard output; characters that its encoding lacks are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"  # it may be closed
    click.echo(line.encode(encoding, "backslashreplace").decode(encoding))


def require_stdin(use: str) -> None:
    """Raise ConfigurationError, naming the use of standard input, if it is closed."""
    if sys.stdin is None:
        raise ConfigurationError(f"standard input is closed; {use}")


def get_output_width() -> int | None:
    """Return the width of the terminal on which results are printed; None for a file or a pipe."""
    is_terminal = sys.stdout and sys.stdout.isatty()  # it may be closed
    return shutil.get_terminal_size().columns if is_terminal else None


def colorize(text: str) -> str:
    """Color the severities and carets of findings; click removes colors if they are off."""
    text = _SEVERITY.sub(_colorize_severity, text)
    return _CARET.sub(lambda match: match[1] + click.style(match[2], fg="red", bold=True), text)


def _colorize_severity(match: re.Match[str]) -> str:
    color = "red" if match[1] else "yellow" if match[2] else "cyan"
    return click.style(match[0].rstrip(" :"), fg=color, bold=True) + ": "


# ── the flags -q, -v and --color for the group and each command ───────────────────────────────────


CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])
_pass_console = click.make_pass_decorator(Console, ensure=True)


def console_flags(command: CommandFunction) -> CommandFunction:
    """Add -q, -v and --color, before or after the command's name."""
    return add_options(
        command,
        _verbosity_option("-q", "--quiet", "Print less.", -1),
        _verbosity_option("-v", "--verbose", "Print more.", 1),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            expose_value=False,
            callback=_set_color,
            help="Color the output (default: on terminals).",
        ),
    )


def with_console(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the console's flags, and pass it as the first argument; the result is the exit code."""

    @functools.wraps(command)
    def run(console: Console, *arguments: Any, **flags: Any) -> None:
        for name, value in flags.items():
            # click accepts NaN in every range.
            if isinstance(value, float) and not math.isfinite(value):
                raise click.BadParameter(f"{value} is not a finite number.", param_hint=name)
        click.get_current_context().exit(command(console, *arguments, **flags) or 0)

    return console_flags(_pass_console(run))


def add_options(
    command: CommandFunction, *options: Callable[[CommandFunction], CommandFunction]
) -> CommandFunction:
    """Add options to a command; its help lists them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def _verbosity_option(
    short: str, name: str, help: str, step: int
) -> Callable[[CommandFunction], CommandFunction]:
    def change(ctx: click.Context, parameter: click.Parameter, count: int) -> None:
        ctx.ensure_object(Console).verbosity += step * count

    return click.option(short, name, count=True, expose_value=False, callback=change, help=help)


def _set_color(ctx: click.Context, parameter: click.Parameter, when: str | None) -> None:
    """Choose colors by the flag, then the variables NO_COLOR and FORCE_COLOR, then the terminal."""
    no_color, force = os.environ.get("NO_COLOR"), os.environ.get("FORCE_COLOR")
    if when is not None and when != "auto":
        ctx.color = when == "always"
    elif ctx.color is None and (no_color or force or os.environ.get("TERM") == "dumb"):
        ctx.color = bool(force) and not no_color


@contextmanager
def ending_by_exception() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit to remove temporary files, and then end the process.

    The signal itself ends it: threads that read a closed terminal never end. A second signal ends
    it immediately.
    """
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        received.append(number)
        sys.exit(128 + number)

    numbers = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    is_main = threading.current_thread() is threading.main_thread()
    changed = [each for each in numbers if is_main and signal.getsignal(each) == signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)
        for number in received:
            os.kill(os.getpid(), number)
