"""docs/debugging.md: its session is what `njc debug` writes, its list of commands is that of `h`."""

from __future__ import annotations

import re
from pathlib import Path

from piped import Debug

from njc.runs.debug.commands import COMMAND_LIST, format_help

DOCUMENT = Path(__file__).parents[2] / "docs" / "debugging.md"
TEXTS = re.findall(r"^```text\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


def test_the_session_is_what_is_written(debug: Debug) -> None:
    (session,) = (text for text in TEXTS if "(njc)" in text)
    commands = re.findall(r"^\(njc\) (.*)$", session, re.MULTILINE)
    (arguments,) = re.findall(
        r"^njc debug (--plain --recording .*)$", DOCUMENT.read_text(), re.MULTILINE
    )
    result = debug(*arguments.split(), commands="\n".join(commands) + "\n")
    assert result.output == session


def test_the_commands_are_listed() -> None:
    assert "\n".join(format_help(COMMAND_LIST)) + "\n" in TEXTS


def test_help_fits_80_columns() -> None:
    assert all(len(line) <= 80 for line in format_help(COMMAND_LIST))
