"""`njc skill`: the guide to natural code for coding agents, njc/skill/SKILL.md.

njc skill > .claude/skills/natural-code/SKILL.md
"""

from __future__ import annotations

from importlib.resources import files

import click

from njc.commands.terminal.console import Console, with_console


@click.command("skill")
@with_console
def command(console: Console) -> None:
    """Print the guide to natural code for coding agents."""
    text = files("njc").joinpath("skill", "SKILL.md").read_text(encoding="utf-8")
    click.echo(text, nl=False)
