"""`njc init DIR`: a new project with a natural program, its recording, a test and a workflow.

shop/pyproject.toml                   builds a wheel with the compiled files
shop/src/support.njpy                 one natural block
shop/tests/test_support.py            runs it on tests/recordings/support.jsonl: no key, no network
shop/.github/workflows/test.yml       njc check, pytest
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from njc import __version__
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import PATH, with_console
from njc.project.outputs import write_all
from njc.project.units import format_path
from njrt.errors import ConfigurationError

_SUFFIX = ".template"


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=PATH)
@with_console
def command(console: Console, folder: Path) -> None:
    """Create a project in DIR with a test that passes offline."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.lower()).strip("-") or "project"
    runtime, njpy = map(find_requirement, ("njpy-runtime", "njpy"))
    names = {"name": name, "version": __version__, "runtime": runtime, "njpy": njpy}
    texts = fill_templates(names)
    if existing := [path for path in texts if (folder / path).exists()]:
        raise ConfigurationError(
            f"{format_path((folder / existing[0]).absolute())} exists; choose another directory"
        )
    write_all({(folder / path).absolute(): text.encode() for path, text in texts.items()})
    for path in texts:
        console.print_detail(format_path((folder / path).absolute()))
    place = "" if folder.absolute() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    console.note(f"created {len(texts)} files; try: {place}njc check && pytest")


def find_requirement(name: str) -> str:
    """Return what installs a package as here: from its place (PEP 610), or by its version."""
    for package in metadata.distributions(name=name):
        if origin := json.loads(package.read_text("direct_url.json") or "{}"):
            vcs, folder = origin.get("vcs_info"), origin.get("subdirectory")
            prefix, commit = (f"{vcs['vcs']}+", f"@{vcs['commit_id']}") if vcs else ("", "")
            part = f"#subdirectory={folder}" if folder else ""
            return f"{name} @ {prefix}{origin['url']}{commit}{part}"
    return f"{name}>={__version__}"


def fill_templates(values: Mapping[str, str]) -> dict[Path, str]:
    """Return a new project's files, by their paths in it."""
    return {
        path: re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], text)
        for path, text in _read_templates(files("njc").joinpath("templates", "project"), Path())
    }


def _read_templates(folder: Traversable, path: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _read_templates(entry, path / entry.name)
        elif entry.name.endswith(_SUFFIX):
            yield path / entry.name.removesuffix(_SUFFIX), entry.read_text(encoding="utf-8")
