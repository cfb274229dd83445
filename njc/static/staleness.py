"""The state of each hole's code: locked, stale or missing.

lock has it, same meaning           Locked(entry)
lock has it, another meaning        Stale(entry, changed=("instruction",))
lock has it under another name      Locked(entry)      the function was renamed or moved
lock has nothing                    Missing()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from njc.static.holes import Hole
from njc.static.lock import LockEntry, StaticLock
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
    return {hole.name: find_hole_status(hole, lock, names) for hole in holes}


def find_hole_status(hole: Hole, lock: StaticLock, names: Collection[str]) -> HoleStatus:
    """Look up a hole; `names` are those of all holes, whose entries are not of renamed blocks."""
    entry = lock.entries.get((hole.name, hole.mode))
    meaning = hole.meaning
    if entry is None:
        moved = (
            Locked(replace(entry, name=hole.name))
            for (name, mode), entry in lock.entries.items()
            if mode == hole.mode and name not in names and entry.meaning == meaning
        )
        return next(moved, Missing())
    changed = tuple(
        it for it in _PART_DESCRIPTIONS if getattr(entry.meaning, it) != getattr(meaning, it)
    )
    return Stale(entry, changed) if changed else Locked(entry)


def find_unused_entries(
    lock: StaticLock, files: Collection[str], names: Collection[str], exists: Callable[[str], bool]
) -> list[LockEntry]:
    """Return the entries for removed blocks; `names` contains the names of all blocks in `files`.

    An entry of another file is unused if that file does not exist.
    """

    def is_unused(entry: LockEntry) -> bool:
        path = entry.name.partition(":")[0]
        return entry.name not in names if path in files else not exists(path)

    return [entry for _, entry in sorted(lock.entries.items()) if is_unused(entry)]


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
        case Locked(entry) if entry.live:
            return f"stays live: {entry.live}"
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
