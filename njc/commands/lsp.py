"""`njc lsp`: the language server that editors start, on standard input and output."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress

import click

from njc.commands.terminal.console import console_flags, require_stdin
from njrt.errors import require_packages


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Accepted; the server always uses stdio.")
@console_flags
@click.pass_context
def command(ctx: click.Context, /, stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol on stdio."""
    require_packages("njc lsp", "njpy[lsp]", "pygls", "lsprotocol", "cattrs")
    from njc.editors.lsp.serving.features import make_server

    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # our handlers log failures
    require_stdin("an editor writes to it")
    outgoing = sys.stdout
    sys.stdout = sys.stderr  # only messages may be written to standard output
    server = make_server()
    server.start_io(sys.stdin.buffer, outgoing.buffer)
    with suppress(OSError):  # otherwise Python 3.13 writes the finalizer's error to standard error
        outgoing.close()
    ctx.exit(int(not server.is_shut_down))
