"""The state of each hole's code: locked, stale or missing.

lock has it, same meaning           Locked(entry)
lock has it, another meaning        Stale(entry, changed=("instruction",))
lock has it under another name      Locked(entry)      the function was renamed or moved
lock has nothing                    Missing()
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from njc.static.holes import Hole
from njc.static.lock import LEARNED_SUFFIX, LockEntry, StaticLock
from njrt.records import record, replace


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
    """Look up every hole in the lock; code that njc 0.2 learned from examples is preferred."""
    names = {hole.name for hole in holes}
    found = {}
    for hole in holes:
        kind = hole.mode + LEARNED_SUFFIX
        best = find_hole_status(hole, lock, names, kind)
        # Stale learned code is ignored, unless a person has edited it.
        is_good = isinstance(best, Locked) or (isinstance(best, Stale) and best.entry.is_edited)
        found[hole.name] = best if is_good else find_hole_status(hole, lock, names, hole.mode)
    return found


def find_hole_status(hole: Hole, lock: StaticLock, names: Collection[str], kind: str) -> HoleStatus:
    """Look up a hole among the entries of one kind: a mode, learned or not.

    `names` contains the names of all holes; their entries are not mistaken for renamed blocks.
    """
    entry = lock.entries.get((hole.name, kind))
    meaning = hole.meaning
    if entry is None:
        moved = (
            Locked(replace(entry, name=hole.name))
            for (name, mode), entry in lock.entries.items()
            if mode == kind and name not in names and entry.meaning == meaning
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
            return f"{said}, learned" if entry.score else said


_PART_DESCRIPTIONS = {
    "instruction": "its instruction",
    "interface": "its names, types or jumps",
    "context": "the program around it",
}
