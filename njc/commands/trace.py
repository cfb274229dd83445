"""`njc trace FILE`: the runs in a file; `njc trace FILE RUN`: a run's steps; `--html`: a page."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from njc.commands.terminal.console import Console, get_output_width
from njc.commands.terminal.flags import FILE, with_console
from njc.debug.trace_view.index import RunSummary, Selection, TraceIndex, read_index
from njc.debug.trace_view.terminal import format_run, format_trace
from njc.project.outputs import check_page
from njc.project.units import format_path
from njrt.errors import ConfigurationError


@click.command("trace")
@click.argument("file", metavar="FILE")
@click.argument("run", required=False)
@click.option("--refusals", is_flag=True, help="Only runs with refused effects.")
@click.option("--unchanged", is_flag=True, help="Only runs that changed nothing.")
@click.option("--search", default="", metavar="TEXT", help="Only runs that have this text.")
@click.option("--html", type=FILE, metavar="OUT", help="Write one page that opens offline.")
@with_console
def command(
    console: Console, /, file: str, run: str | None, html: Path | None, **flags: Any
) -> None:
    """Show the runs in a trace, or the steps of one.

    RUN is a run's number or id.
    """
    path, selection = open_trace(file), Selection(**flags)
    if html is not None:
        if run is not None:
            raise ConfigurationError("--html shows all runs of a trace; leave RUN out")
        from njc.debug.trace_view.page import write_page

        check_page(html, path)
        write_page(html, read_trace_index(console, path, selection.search), selection)
        console.note(f"{format_path(html)}: {html.stat().st_size / 1e3:,.0f} kB")
        return
    index = read_trace_index(console, path, selection.search)
    if run is None:
        lines = format_trace(index, selection, get_output_width())
    else:
        found = find_run(index, run)
        lines = format_run(found, index.read_steps(found), selection)
    for line in lines:
        click.echo(line)


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
