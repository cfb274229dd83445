"""`njc canary`: the stored canaries of blocks in mode `auto`, and alarms to clear."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import STORE, refuse_options, with_console
from njc.project.report import format_count
from njc.runs.trace_view.tables import TableColumn
from njrt.errors import ConfigurationError
from njrt.persistence.open_store import get_store_to_read
from njrt.production.canary.block_state import CanaryState, CanaryStore, describe_alarm

_COLUMNS = (
    TableColumn("block", can_shrink=True),
    TableColumn("canaries", is_number=True),
    TableColumn("different", is_number=True),
    TableColumn("skipped", is_number=True, rank=1),
    TableColumn("runs"),
)


@click.command("canary")
@click.argument("blocks", nargs=-1, metavar="[BLOCK]...")
@click.option("--clear", is_flag=True, help="Use the code of the BLOCKs again, and test it.")
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@with_console
def command(
    console: Console, blocks: Sequence[str], clear: bool, url: str | None, as_json: bool
) -> int:
    """Show how canaries of static code have done.

    A BLOCK has its name in njc.lock, such as `shop.njpy:fill`, or that with the digest of its code. The exit code is 1
    if a shown block is live because of an alarm.
    """
    if clear:
        refuse_options("does nothing with --clear, which shows nothing", "as_json")
        _clear(console, CanaryStore(get_store_to_read(url, os.environ)), blocks)
        return 0
    store = CanaryStore(get_store_to_read(url, os.environ))
    found = {
        name: state for name, state in store.list_states() if not blocks or matches(name, blocks)
    }
    if as_json:
        states = [{"block": name} | _state_to_json(state) for name, state in found.items()]
        console.json({"store": store.store.name, "blocks": states})
    elif not found:
        console.note(f"{store.store.name}: no canary has run")
    else:
        rows = []
        for name, state in found.items():
            history, runs = state.history, "live" if state.alarm else "code"
            counts = (history.runs, history.differences, state.skipped)
            rows.append((name, *(f"{count:,}" for count in counts), runs))
        console.table(_COLUMNS, rows)
        for name, state in found.items():
            if state.alarm:
                console.result(f"{name}: {describe_alarm(state.alarm)}\n    {state.alarm.example}")
            if state.problem:
                console.note(f"{name}: skipped, the last time because: {state.problem}")
    return int(any(state.alarm for state in found.values()))


def matches(name: str, blocks: Sequence[str]) -> bool:
    """Return whether a name in the store, which includes a digest, is one of these."""
    return name in blocks or name.rpartition(" ")[0] in blocks


def _clear(console: Console, store: CanaryStore, blocks: Sequence[str]) -> None:
    names = [name for name in store.list_names() if matches(name, blocks)]
    unknown = [block for block in blocks if not any(matches(name, [block]) for name in names)]
    if unknown or not names:
        raise ConfigurationError(
            f"{store.store.name} has no canaries of {', '.join(unknown) or 'no block'}; "
            "`njc canary` lists the blocks that it has"
        )
    for name in names:
        store.clear(name)
    console.note(f"{format_count(len(names), 'block')} cleared")


def _state_to_json(state: CanaryState) -> dict[str, Any]:
    last = state.alarm
    return {
        "place": state.place,
        "canaries": state.history.runs,
        "differences": state.history.differences,
        "skipped": state.skipped,
        "problem": state.problem,
        "example": state.example,
        "alarm": last and {"at": last.at, "canaries": last.runs, "differences": last.differences},
    }
