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
from collections.abc import Iterable, Iterator, Mapping
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
    njpy = find_requirement(metadata.distributions(name="njpy"))
    texts = fill_templates({"name": name, "version": __version__, "njpy": njpy})
    if existing := [path for path in texts if (folder / path).exists()]:
        raise ConfigurationError(
            f"{format_path((folder / existing[0]).absolute())} exists; choose another directory"
        )
    write_all({(folder / path).absolute(): text.encode() for path, text in texts.items()})
    for path in texts:
        console.print_detail(format_path((folder / path).absolute()))
    place = "" if folder.absolute() == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
    console.note(f"created {len(texts)} files; try: {place}njc check && pytest")


def find_requirement(installed: Iterable[metadata.Distribution]) -> str:
    """Return what installs this njpy: the place that it was installed from (PEP 610), or its version."""
    for njpy in installed:
        if origin := json.loads(njpy.read_text("direct_url.json") or "{}"):
            vcs = origin.get("vcs_info")
            prefix, commit = (f"{vcs['vcs']}+", f"@{vcs['commit_id']}") if vcs else ("", "")
            return f"njpy @ {prefix}{origin['url']}{commit}"
    return f"njpy>={__version__}"


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
