"""`njc skill`: the guide to natural code for coding agents, njc/skill/SKILL.md.

njc skill                            prints it
njc skill --into .claude/skills      writes .claude/skills/natural-code/SKILL.md
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import PATH, refuse_options, with_console
from njc.project.outputs import write_all
from njc.project.units import format_path, read_file
from njrt.errors import ConfigurationError

NAME = "natural-code"
"""The name in the guide's head, and of its folder."""


@click.command("skill")
@click.option("--into", metavar="DIR", type=PATH, help="Write it below DIR.")
@click.option("--force", is_flag=True, help="Overwrite a file that differs.")
@with_console
def command(console: Console, into: Path | None, force: bool) -> None:
    """Print the guide to natural code for coding agents."""
    text = files("njc").joinpath("skill", "SKILL.md").read_text(encoding="utf-8")
    if into is None:
        refuse_options("needs --into", "force")
        click.echo(text, nl=False)
        return
    path = (into / NAME / "SKILL.md").absolute()
    if path.exists() and read_file(path) != text.encode() and not force:
        raise ConfigurationError(f"{format_path(path)} differs; --force overwrites it")
    write_all({path: text.encode()})
    console.note(f"wrote {format_path(path)}")
