"""`njc dap`: the debug adapter that editors start, on standard input and output."""

from __future__ import annotations

import sys

import click

from njc.commands.terminal.console import console_flags, ending_by_exception, require_stdin


@click.command("dap")
@console_flags
def command() -> None:
    """Serve an editor by the Debug Adapter Protocol on stdio."""
    from njc.debug.dap.adapter import Adapter

    require_stdin("an editor writes to it")
    outgoing = sys.stdout
    sys.stdout = sys.stderr  # only messages may be written to standard output
    with ending_by_exception():
        Adapter(sys.stdin.buffer, outgoing.buffer).serve()
