"""`njc migrate-model OLD NEW -- pytest -q`: run a command on its recordings, then with another model, and compare."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import with_console
from njc.commands.terminal.trace_status import choose_command, run_traced
from njc.evaluation.comparison.text import format_text_table
from njc.evaluation.drift import ComparedBlock, compare_runs, format_difference, read_runs
from njc.project.units import format_path
from njc.trace_lines import UnansweredLine, read_written_trace
from njrt.errors import ConfigurationError
from njrt.persistence.recording_place import (
    find_copied,
    is_stored,
    open_recording_place,
    split_lines,
)

FOLDER = Path(".njc_cache") / "migrate-model"
MOST_DIFFERENCES = 5


@click.command("migrate-model", context_settings={"allow_interspersed_args": False})
@click.argument("old")
@click.argument("new")
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--write", is_flag=True, help="Replace the recordings by the replies of NEW.")
@click.option("--fresh", is_flag=True, help="Ask NEW again.")
@with_console
def command(
    console: Console, old: str, new: str, words: Sequence[str], write: bool, fresh: bool
) -> int:
    """Ask the model NEW what OLD was asked, and compare.

    The differences are listed by block.

    COMMAND (default: pytest -q) runs twice: on its recordings, and with NEW in place of OLD; its replies are recorded in a
    separate folder, so that they are asked for once. Exit code 1: outcomes differ, or COMMAND failed with NEW.
    """
    words = choose_command(words)
    name = hashlib.sha256(json.dumps([old, new, words]).encode()).hexdigest()[:12]
    folder = (FOLDER / name).absolute()
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    before, after = folder / "old.trace.jsonl", folder / "new.trace.jsonl"
    logs = before.with_suffix(".log"), after.with_suffix(".log")
    if code := run_traced(console, words, before, logs[0], os.environ):
        raise ConfigurationError(
            f"the command fails on its recordings, exit code {code}; correct that first: "
            f"{format_path(logs[0])}"
        )
    if not read_runs(read_written_trace(before)):
        raise ConfigurationError(
            f"no block asked a model while `{shlex.join(words)}` ran: there is nothing to compare"
        )
    environ = {"NJC_RECORD_TO": str(folder / "recordings"), "NJC_REPLACE_MODEL": f"{old}={new}"}
    code = run_traced(console, words, after, logs[1], os.environ | environ)
    traces = [read_written_trace(trace) for trace in (before, after)]
    blocks = compare_runs(*map(read_runs, traces))
    console.result(_format_report(blocks))
    verdict = f"fails, exit code {code}: {format_path(logs[1])}" if code else "passes"
    console.result(f"\nwith {new} the command {verdict}")
    recorded = sorted((folder / "recordings").rglob("*.jsonl"))
    lost = [line.error for line in traces[1] if isinstance(line, UnansweredLine)]
    if write and lost:
        raise ConfigurationError(f"{new} left requests unanswered; nothing is written: {lost[0]}")
    if write:
        for file in recorded:
            target = find_copied(file.relative_to(folder / "recordings"))
            lines = split_lines(file.read_text(encoding="utf-8-sig"))
            open_recording_place(target).rewrite(partial(lambda new, _: new, lines))
            console.note(f"written: {target if is_stored(target) else format_path(Path(target))}")
    else:
        console.note(
            f"{len(recorded)} recordings of {new} are in {format_path(folder / 'recordings')}; --write uses them"
        )
    return int(bool(code) or any(block.same_outcome < block.runs for block in blocks))


def _format_report(blocks: Sequence[ComparedBlock]) -> str:
    rows = [
        (block.place, str(block.runs), str(block.same_effects), str(block.same_outcome))
        for block in blocks
    ]
    lines = [format_text_table(("block", "runs", "same effects", "same outcome"), rows)]
    for block in blocks:
        for difference in block.differences[:MOST_DIFFERENCES]:
            shown = "\n".join(f"  {line}" for line in format_difference(difference))
            lines.append(f"{block.place}\n{shown}")
        if (more := len(block.differences) - MOST_DIFFERENCES) > 0:
            lines.append(f"{block.place}: {more} more")
    return "\n\n".join(lines)
