"""The pages of the reference that are made from the product when the site is built.

the commands of njc, spsbench  ──>  reference/commands.md
the findings of the compiler   ──>  reference/diagnostics.md
njrt.__all__                   ──>  reference/python.md, filled in from the docstrings by mkdocstrings
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

import click

import njrt
from njc.commands import njc
from njc.compiler.frontend.diagnostics import SEVERITIES
from njc.findings import get_file
from spsbench.cli import main as spsbench


def write_commands() -> Iterator[str]:
    """The help of every command."""
    yield "# Commands\n\nWhat `--help` prints.\n"
    for command, name in ((njc, "njc"), (spsbench, "spsbench")):
        yield f"## {name}\n"
        yield from _write_help(command, click.Context(command, info_name=name))


def _write_help(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"```text\n{command.get_help(context)}\n```\n"
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        inner = command.get_command(context, name)
        assert inner is not None
        yield f"### {context.command_path} {name}\n"
        yield from _write_help(inner, click.Context(inner, info_name=name, parent=context))


def write_diagnostics() -> Iterator[str]:
    """What `njc explain` prints about each finding."""
    yield "# Diagnostics\n"
    yield "All findings of `njc check` and `njc build`, as `njc explain CODE` prints them. An error"
    yield 'stops the build; a warning does not, unless the project has `warnings = "error"`. Hints are'
    yield "reported by `njc check --hints`. A comment `# njc: ignore[CODE]` above a block, or after its"
    yield "closing quotes, silences a finding there; before the first statement, in the whole file.\n"
    for code in sorted(SEVERITIES):
        yield f"#{get_file(code).read_text(encoding='utf-8')}"


COMPILED_CALLS = ("Break", "Continue", "Return", "allm_at", "arun", "attempt", "llm_at", "run")
"""The public names that only compiled files use."""


def write_python() -> Iterator[str]:
    """The public names of njrt; mkdocstrings puts their docstrings in."""
    calls = ", ".join(f"`njrt.{name}`" for name in COMPILED_CALLS)
    yield "# Python\n"
    yield f"The public names of `njrt`, from their docstrings. Compiled files also use {calls}"
    yield "([compiled files](building.md#the-compiled-file)).\n\n## Names\n"
    for name in sorted({*njrt.__all__} - {*COMPILED_CALLS, "Any"}):
        value = getattr(njrt, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield f"::: {value.__module__}.{name}"
            yield f"    options:\n      heading: njrt.{name}\n      toc_label: {name}\n"
        else:  # unions and aliases, which have no docstring of their own
            yield f"`njrt.{name}` is `{value}`.\n"
    lines = inspect.getdoc(import_module("njrt.errors")) or ""
    yield f"## Errors\n\n```text\n{lines[lines.index('NaturalError') :].split(chr(10) * 2)[0]}\n```"


PAGES = {"diagnostics": write_diagnostics, "commands": write_commands, "python": write_python}
"""The function that writes each page, by the name of its file."""
