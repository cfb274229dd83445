"""`spsbench replay`: execute recorded traces on our runtime.

spsbench replay traces.jsonl                                     on our programs
spsbench replay traces.jsonl --programs nightjarpy/benchmarks/programs --results results.jsonl
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TextIO

import click

from spsbench import flags


@click.command("replay")
@click.argument("traces", type=flags.TEXT)
@click.option(
    "--programs",
    type=flags.EXISTING_FOLDER,
    metavar="DIR",
    help="Folder of the programs of the traces.",
)
@click.option(
    "--results",
    type=flags.TEXT,
    metavar="FILE",
    help="Results published with the traces, to compare with.",
)
def command(traces: TextIO, programs: Path | None, results: TextIO | None) -> None:
    """Replay published traces, and compare answers and checks.

    TRACES has one JSON object a line: file_name, model, run, trace; of the lines of one run, the
    last counts. DIR has the programs that the traces were taken from, as NAME.py or NAME/NAME.py.
    The recorded code and these programs are run here; the guard is not a sandbox.
    """
    click.echo(replay_traces(traces, programs, results))


def replay_traces(file: TextIO, programs: Path | None, results: TextIO | None) -> str:
    """Replay all traces, on our programs or on those in a folder, and format the results."""
    from spsbench.journal import naming
    from spsbench.replay.programs import load_authors_program, load_suite_program
    from spsbench.replay.replaying import format_replay_table, keep_last_runs, replay_trace
    from spsbench.replay.traces import parse_evaluations, parse_traces

    find = partial(load_authors_program, programs=programs) if programs else load_suite_program
    evaluations = {}
    if results is not None:
        with naming(results.name):
            evaluations = parse_evaluations(results)
    with naming(file.name):
        traces = keep_last_runs(parse_traces(file))
    return format_replay_table([replay_trace(trace, find, evaluations) for trace in traces])
