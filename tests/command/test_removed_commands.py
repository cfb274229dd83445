"""A command that has left says once what to do instead."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from njc.commands import njc
from njc.commands.terminal.removed import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_a_removed_command_says_once_what_to_do_instead(command: str) -> None:
    called = CliRunner(catch_exceptions=False).invoke(njc, [*command.split(), "a.njpy"])
    advice = f"`njc {command}` was removed in njc 0.3: {COMMANDS[command]}\n"
    assert (called.exit_code, called.output.count(advice)) == (2, 1)
