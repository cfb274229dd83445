"""`njc replay --drift -- pytest -q`: run a command on its recordings, and list entries that no longer match."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import with_console
from njc.commands.terminal.trace_status import choose_command
from njc.project.report import format_count
from njc.project.units import format_path
from njrt.message_json import parse_json_lines
from njrt.persistence.recording_place import is_stored


@click.command("replay", context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--drift", is_flag=True, help="Continue if a recording does not match.")
@with_console
def command(console: Console, words: Sequence[str], drift: bool) -> int:
    """Run COMMAND (pytest -q) on recordings; ask no model.

    A block without a recording is an error; NJC_RECORD=none:FILE names one for a program that is not a test. With --drift a request that is not in the recording gets the reply that was recorded in its place, and is listed with
    the first difference. Exit code 1: something no longer matches.
    """
    command = choose_command(words)
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "drift.jsonl")
        environ = {**os.environ, "NJC_REPLAY": "1"} | ({"NJC_DRIFT": str(noted)} if drift else {})
        done = subprocess.run(command, env=environ, stdin=subprocess.DEVNULL, check=False)
        lines = noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []
    if not drift:
        return done.returncode
    differences = format_drift(lines)
    console.result(differences or "all requests are in the recordings")
    return 1 if differences or done.returncode else 0


def format_drift(lines: Sequence[str]) -> str:
    """Return the requests that no longer match, and the entries that no program requests, by recording."""
    by_recording: defaultdict[str, list[str]] = defaultdict(list)
    unused: dict[str, list[tuple[str, int, str]]] = {}
    for line in parse_json_lines(lines):
        name = line["recording"]
        if (entries := line.get("unused")) is not None:
            unused[name] = [entry for entry in unused.get(name, entries) if entry in entries]
        else:
            problem = line["problem"].replace("\n", "\n    ")
            by_recording[name].append(f"  {line['place']}, turn {line['turn']}: {problem}")
    for name, place, turn in ((each, *entry[:2]) for each in unused for entry in unused[each]):
        by_recording[name].append(f"  {place}, turn {turn}: the program never asks for it")
    parts = []
    for recording, found in by_recording.items():
        path = recording if is_stored(recording) else format_path(Path(recording).absolute())
        count = f"{format_count(len(found), 'entry')} no longer match{'es' * (len(found) == 1)}"
        parts.append("\n".join([f"{path}: {count}", *found]))
    return "\n".join(parts)
