"""docs/reference/debugging.md shows what `njc debug` writes and the commands that `h` lists."""

from __future__ import annotations

import re
from pathlib import Path

from piped import Debug

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "debugging.md").read_text()
TEXTS = re.findall(r"^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_session_is_what_is_written(debug: Debug) -> None:
    (session,) = (text for text in TEXTS if "(njc)" in text)
    commands = re.findall(r"^\(njc\) (.*)$", session, re.MULTILINE)
    (arguments,) = re.findall(r"^njc debug (--recording examples/.*)$", PAGE, re.MULTILINE)
    result = debug(*arguments.split(), commands="\n".join(commands) + "\n")
    assert result.output == session


def test_the_commands_are_listed_in_80_columns(debug: Debug) -> None:
    _, _, listed = debug("examples/order.njpy", commands="h\n").output.partition("(njc) h\n")
    assert listed in TEXTS
    assert all(len(line) <= 80 for line in listed.splitlines())
