"""`spsbench replay`: recorded traces, carried out on our runtime.

spsbench replay traces.jsonl                                     on our programs
spsbench replay traces.jsonl --programs nightjarpy/benchmarks/programs
spsbench replay --export trace.jsonl > traces.jsonl              from a trace file of ours
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import click


@click.command("replay")
@click.argument("traces", type=click.File(encoding="utf-8"))
@click.option(
    "--programs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The programs that the traces were taken from, as DIR/NAME.py or DIR/NAME/NAME.py.",
)
@click.option(
    "--export", is_flag=True, help="TRACES is a trace file of njrt: print it as published traces."
)
def command(traces: Iterable[str], programs: Path | None, export: bool) -> None:
    """Carry out the effects of published traces on this runtime, and check what comes of them.

    TRACES holds a JSON object a line: file_name, model, run, trace. The recorded code is run, as are the
    programs of DIR: the guard is no sandbox.
    """
    from spsbench.replay.traces import TraceError

    try:
        click.echo(exported(traces) if export else report(traces, programs), nl=not export)
    except TraceError as problem:
        raise click.ClickException(str(problem)) from problem


def report(lines: Iterable[str], programs: Path | None) -> str:
    """Play all traces, on our programs or on those in a folder, and tell what became of them."""
    from spsbench.replay.programs import our_program, their_program
    from spsbench.replay.replaying import replay, table
    from spsbench.replay.traces import traces_in

    find = partial(their_program, programs=programs) if programs else our_program
    return table([replay(trace, find) for trace in traces_in(lines)])


def exported(lines: Iterable[str]) -> str:
    """A trace file of njrt as published traces, a line each."""
    from njrt.message_json import json_line
    from spsbench.replay.export import traces_of
    from spsbench.replay.traces import published

    return "".join(f"{json_line(published(trace))}\n" for trace in traces_of(lines))
