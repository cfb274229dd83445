"""Debugging programs with commands from a pipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from piped import Debug

from njc.commands import njc

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def debug(monkeypatch: pytest.MonkeyPatch) -> Debug:
    """Calls `njc debug` with arguments and commands, on the examples."""
    monkeypatch.chdir(EXAMPLES.parent)
    monkeypatch.setenv("NJC_CACHE", "off")

    def call(*arguments: object, commands: str | bytes = "") -> Result:
        runner = CliRunner(catch_exceptions=False)
        return runner.invoke(njc, ["debug", *map(str, arguments)], input=commands)

    return call
