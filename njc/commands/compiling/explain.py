"""`njc explain NJ204`: the meaning of a finding, and how to fix it."""

from __future__ import annotations

import textwrap

import click
from click.shell_completion import CompletionItem

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import with_console
from njc.frontend.diagnostics import CODES
from njrt.errors import ConfigurationError
from njrt.similar import find_similar


def _complete_code(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [
        CompletionItem(code, help=found.title)
        for code, found in CODES.items()
        if code.startswith(incomplete.upper())
    ]


@click.command("explain")
@click.argument("code", required=False, shell_complete=_complete_code)
@with_console
def command(console: Console, code: str | None) -> None:
    """Explain the finding CODE; without CODE, list all of them."""
    if code is None:
        rows = (f"{name}  {found.severity:7}  {found.title}" for name, found in CODES.items())
        console.result("\n".join(rows))
        return
    code = code.upper()
    if code not in CODES:
        close = find_similar(code, CODES)
        hint = f"did you mean {close}?" if close else "`njc explain` lists all codes"
        raise ConfigurationError(f"no code {code}; {hint}")
    found = CODES[code]
    ignored = "" if found.fatal else f"\n\nA comment `# njc: ignore[{code}]` silences it."
    explanation = textwrap.fill(found.explanation, 88, break_long_words=False)
    console.result(f"{code} ({found.severity}): {found.title}\n\n{explanation}{ignored}")
