"""`njc explain NJ204`: the meaning of a finding, and how to fix it."""

from __future__ import annotations

import textwrap

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import with_console
from njc.compiler.frontend.diagnostics import FATAL, SEVERITIES
from njc.findings import read_finding
from njrt.errors import ConfigurationError


@click.command("explain")
@click.argument("code", required=False)
@with_console
def command(console: Console, code: str | None) -> None:
    """Explain the finding CODE; without CODE, list all of them."""
    if code is None:
        rows = (
            f"{name}  {SEVERITIES[name]:7}  {read_finding(name).title}"
            for name in sorted(SEVERITIES)
        )
        console.result("\n".join(rows))
        return
    code = code.upper()
    if code not in SEVERITIES:
        raise ConfigurationError(f"no code {code}; `njc explain` lists all codes")
    found = read_finding(code)
    explanation = textwrap.fill(found.explanation, 88, break_long_words=False)
    parts = [f"{code} ({SEVERITIES[code]}): {found.title}", explanation]
    if code not in FATAL:
        parts.append(f"A comment `# njc: ignore[{code}]` silences it.")
    parts += [it for it in found.report.split("\n\n") if f"[{code}]" in it][:1]
    console.result("\n\n".join(part.rstrip() for part in parts))
