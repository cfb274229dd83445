"""The state of each hole's code: locked, stale or missing.

lock has it, same meaning           Locked(entry)
lock has it, another meaning        Stale(entry, changed=("instruction",))
lock has it under another name      Locked(entry)      the function was renamed or moved
lock has nothing                    Missing()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from njc.static.holes import Hole
from njc.static.lock import BlockDigests, LockEntry, StaticLock
from njrt.data.records import record, replace


@record
class Locked:
    """There is code for the block's current meaning."""

    entry: LockEntry


@record
class Stale:
    """There is code for an earlier meaning of the block."""

    entry: LockEntry
    changed: tuple[str, ...]
    """Which of instruction, interface and context have changed."""


@record
class Missing:
    """There is no code for the block."""


HoleStatus = Locked | Stale | Missing


def find_hole_statuses(holes: Sequence[Hole], lock: StaticLock) -> dict[str, HoleStatus]:
    """Look up every hole in the lock."""
    names = {hole.name for hole in holes}
    other = [entry for entry in lock.entries.values() if entry.name not in names]
    moved = {(entry.mode, entry.meaning): entry for entry in other}
    return {hole.name: _find_status(hole, lock, moved) for hole in holes}


def _find_status(
    hole: Hole, lock: StaticLock, moved: Mapping[tuple[str, BlockDigests], LockEntry]
) -> HoleStatus:
    entry, meaning = lock.entries.get((hole.name, hole.mode)), hole.meaning
    if entry is None:
        found = moved.get((hole.mode, meaning))
        return Locked(replace(found, name=hole.name)) if found else Missing()
    changed = tuple(
        it for it in _PART_DESCRIPTIONS if getattr(entry.meaning, it) != getattr(meaning, it)
    )
    return Stale(entry, changed) if changed else Locked(entry)


def describe_hole_status(status: HoleStatus) -> str:
    """Describe a hole's status in one line."""
    match status:
        case Missing():
            return "missing: no code has been written for it"
        case Stale(entry, changed):
            edited = ", and its code was edited" if entry.is_edited else ""
            return (
                f"stale: {' and '.join(_PART_DESCRIPTIONS[part] for part in changed)}"
                f" changed{edited}"
            )
        case Locked(entry):
            said = "edited" if entry.is_edited else "up to date"
            if entry.is_reviewed and entry.reviewed:
                said += f", reviewed by {entry.reviewed.by}"
            return said


_PART_DESCRIPTIONS = {
    "instruction": "its instruction",
    "interface": "its names, types or jumps",
    "context": "the program around it",
}
