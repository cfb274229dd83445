"""What docs/reference/editors.md and the extension say of `njc dap` is what it does."""

from __future__ import annotations

import json
import re
from pathlib import Path

from njc.debug.dap.adapter import CAPABILITIES, HELP
from njc.debug.dap.requests import LaunchArguments
from njc.debug.timeline.breakpoints import parse_breakpoint

ROOT = Path(__file__).parents[4]
DOCUMENT = (ROOT / "docs" / "reference" / "editors.md").read_text(encoding="utf-8")
KEYS = {field.alias for field in LaunchArguments.model_fields.values()} - {"noDebug"}
"""`noDebug` is set by editors, where a program is run without debugging."""


def test_the_console_commands_are_those_of_the_help() -> None:
    assert f"```text\n{HELP}\n```" in DOCUMENT


def test_the_keys_of_launch_are_all_there() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", DOCUMENT, re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} - {"launch"} == KEYS


def test_the_exception_filters_are_all_there() -> None:
    names = [found["filter"] for found in CAPABILITIES["exceptionBreakpointFilters"]]
    line = next(line for line in DOCUMENT.splitlines() if "exception filters" in line)
    assert sorted(re.findall(r"`(\w+)`", line)) == sorted(names)


def test_the_breakpoints_in_words_are_breakpoints() -> None:
    (text,) = re.findall(r"are in words: (.*?), each", DOCUMENT, re.DOTALL)
    breakpoints = re.findall(r"`(.*?)`", text)
    assert len(breakpoints) == 3
    assert all(parse_breakpoint(words) for words in breakpoints)


def test_the_extension_offers_the_keys_of_launch() -> None:
    package = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())
    (debugger,) = package["contributes"]["debuggers"]
    assert set(debugger["configurationAttributes"]["launch"]["properties"]) == KEYS
