"""`njc trace FILE`: the runs in a file; `njc trace FILE RUN`: a run's steps; `--html`: a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from njc.commands.terminal.console import Console, get_output_width
from njc.commands.terminal.flags import FILE, refuse_options, with_console
from njc.debug.trace_view.index import RunSummary, Selection, TraceIndex, read_index
from njc.debug.trace_view.terminal import (
    format_pair,
    format_pairs,
    format_run,
    format_trace,
)
from njc.project.outputs import check_page
from njc.project.units import format_path
from njrt.errors import ConfigurationError


@click.command("trace")
@click.argument("files", nargs=-1, required=True, metavar="FILE [FILE] [RUN]")
@click.option("--run", "run", metavar="RUN", help="Show the steps of this run: its number or id.")
@click.option("--refusals", is_flag=True, help="Only runs with refused effects.")
@click.option("--unchanged", is_flag=True, help="Only runs that changed nothing.")
@click.option("--search", default="", metavar="TEXT", help="Only runs that have this text.")
@click.option("--html", type=FILE, metavar="OUT", help="Write one page that opens offline.")
@with_console
def command(
    console: Console, /, files: Sequence[str], run: str | None, html: Path | None, **flags: Any
) -> None:
    """Show the runs in a trace, the steps of one, or two traces."""
    paths, run = _split_arguments(files, run)
    selection = Selection(**flags)
    if html is not None:
        if run is not None or len(paths) > 1:
            raise ConfigurationError("--html shows all runs of one trace; leave the rest out")
        from njc.debug.trace_view.page import write_page

        check_page(html, *paths)
        write_page(html, read_trace_index(console, paths[0], selection.search), selection)
        console.note(f"{format_path(html)}: {html.stat().st_size / 1e3:,.0f} kB")
        return
    width = get_output_width()
    indexes = [read_trace_index(console, path, selection.search) for path in paths]
    runs = [] if run is None else [find_run(index, run) for index in indexes]
    match indexes, runs:
        case [index], []:
            lines = format_trace(index, selection, width)
        case [index], [found]:
            lines = format_run(found, index.read_steps(found), selection, width)
        case [first, second], []:
            lines = format_pairs(first, second, selection, width)
        case _:
            refuse_options("chooses among runs; two are named here", *flags)
            (first, second), (a, b) = indexes, runs
            lines = format_pair(first, second, (a, b), width)
    for line in lines:
        click.echo(line)


def _split_arguments(arguments: Sequence[str], run: str | None) -> tuple[list[Path], str | None]:
    """Split the arguments into files and a run: the last argument, if there is no such file."""
    files = list(arguments)
    if run is None and len(files) > 1 and not Path(files[-1]).exists():
        run = files.pop()
    if len(files) > 2:
        raise ConfigurationError("`njc trace` compares two traces; leave out the others")
    return [open_trace(file) for file in files], run


def open_trace(place: str) -> Path:
    """Return a trace's file; a temporary copy of a pipe, which is read once."""
    if not Path(place).is_fifo():
        return Path(place)
    data = Path(place).read_bytes()
    folder = click.get_current_context().with_resource(TemporaryDirectory(prefix="njc-trace-"))
    path = Path(folder) / "trace.jsonl"
    path.write_bytes(data)
    return path


def read_trace_index(console: Console, path: Path, search: str = "") -> TraceIndex:
    """Read a trace, and show its unreadable parts."""
    index = read_index(path, search)
    for problem in index.problems:
        console.findings(f"warning: {format_path(path)}: {problem}")
    return index


def find_run(index: TraceIndex, name: str) -> RunSummary:
    """Return the run with this number or id; raises ConfigurationError if it is missing."""
    for run in index.runs:
        if name in (str(run.number), run.id):
            return run
    raise ConfigurationError(
        f"{format_path(index.path)} has no run `{name}`; it has runs 1 to {len(index.runs)}"
    )
