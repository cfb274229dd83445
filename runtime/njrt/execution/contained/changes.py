"""Changes as data for people: what contained code changes, by path, before it is applied.

list_changes(table, names, new, differences)   [Change("order.status", "open", "paid", ...),
                                                Change("totals['ada']", MISSING, 7, ...)]
Ledger(module).list_parts(variables)           the same after the fact, for code of any policy
edit_changes(delta, changes, {"order.status": "held"})      the delta with other new values
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from njrt.data.records import record, replace
from njrt.errors import InterceptorError
from njrt.execution.contained.apply import Difference, list_differences
from njrt.execution.contained.contents import MISSING, SEQUENCES, Image, StateError
from njrt.execution.contained.making import Delta
from njrt.execution.contained.program import Program
from njrt.execution.contained.state import Table
from njrt.values.introspection import is_exactly
from njrt.values.rendering.describe import render_value

MAX_LISTED = 2_000
_KEY_CHARS = 60


@record
class Change:
    """A variable, attribute, key or item that differs; a missing value is `MISSING`."""

    path: str
    was: Any
    now: Any
    place: tuple[int | str, int] | None = None
    """Where the new value is: the number of the object or the name of the variable, then the
    position among its values; None for several values at a time."""

    def write(self) -> dict[str, Any]:
        """Return the change as people see it: what was there, and what is there now."""
        values = {"was": self.was, "now": self.now}
        return {name: value for name, value in values.items() if value is not MISSING}


def list_changes(
    table: Table,
    names: Mapping[str, Any],
    new: Mapping[str, Any],
    differences: Sequence[Difference],
) -> list[Change]:
    """Return what differs in a table's objects, and the new values of the variables `names`."""
    found = [Change(name, names.get(name, MISSING), now, (name, 0)) for name, now in new.items()]
    paths = _find_paths(table, names) if differences else {}
    for it in differences:
        path = paths.get(it.number) or f"{type(it.value).__name__} {it.number}"
        found += (
            _compare_items(table, path, it) if it.tag in SEQUENCES else _compare(table, path, it)
        )
    seen: Counter[str] = Counter()
    for position, change in enumerate(found):  # keys that are cut may look alike
        seen[change.path] += 1
        if seen[change.path] > 1:
            found[position] = replace(change, path=f"{change.path} ({seen[change.path]})")
    return found


def edit_changes(delta: Delta, changes: Sequence[Change], edits: Mapping[str, Any]) -> Delta:
    """Return a delta with other new values by path; raise InterceptorError for other edits."""
    values = {number: [*held] for number, (_, held) in delta.changed.items()}
    names = dict(delta.names)
    places = {it.path: it.place for it in changes if it.now is not MISSING}
    for path, now in edits.items():
        place = places.get(path)
        if place is None or not is_exactly(now, str, int, float, bool, type(None)):
            raise InterceptorError(
                f"an edit of changes gives `{path}` another text, number, truth value or null, if "
                "it has one new value; reject other changes with words"
            )
        owner, position = place
        if isinstance(owner, str):
            names[owner] = now
        else:
            values[owner][position] = now
    images = {n: (keys, tuple(values[n])) for n, (keys, _) in delta.changed.items()}
    return replace(delta, changed=images, names=names)


class Ledger:
    """Lists what any code changes in objects, after the fact (state: what the objects held)."""

    def __init__(self, module: str) -> None:
        self._table: Table | None = Program({module.partition(".")[0]}, {}).table

    def list_parts(self, variables: Mapping[str, Any]) -> list[Change]:
        """Return what has changed since the last call, in objects that the variables reached then.

        Variables that are bound anew are not listed. Nothing is listed from the point where there
        are more than `MAX_LISTED` objects, or a value that cannot be read.
        """
        if (table := self._table) is None:
            return []
        try:
            changed = table.find_changed()
            for value in variables.values():
                table.encode(value)
            differences = [*list_differences(table, changed)]
            added: list[Image] = []
            while (number := len(table.known) + len(added)) < len(table.objects) <= MAX_LISTED:
                added.append(table.read(number))
                table.write(table.kinds[number][0], added[-1])
            if len(table.objects) > MAX_LISTED:
                raise StateError("too many objects")
            found = list_changes(table, variables, {}, differences)
            table.agree(changed, added)
            table.remember()
        except Exception:  # of the state, or of the program's own methods
            self._table = None
            return []
        return found


# ── paths ────────────────────────────────────────────────────────────────────────────────────────


def _find_paths(table: Table, names: Mapping[str, Any]) -> dict[int, str]:
    """Return the shortest path from a variable to each object that the variables reach."""
    paths: dict[int, str] = {}
    waiting = deque(names.items())
    while waiting:
        path, value = waiting.popleft()
        number = table.numbers.get(id(value))
        if number is not None and number not in paths and number < len(table.known):
            paths[number] = path
            waiting += _list_parts(path, table.kinds[number][0], table.known[number])
    return paths


def _list_parts(path: str, tag: str, image: Image) -> Iterator[tuple[str, Any]]:
    """Return the parts of an object that are objects, with their paths."""
    keys, values = (range(len(image[1])) if tag in SEQUENCES else image[0]), image[1]
    for key, value in zip(keys, values, strict=False) if tag != "error" else ():
        if not is_exactly(value, str, int, float, bool, type(None)):
            yield _name_part(path, tag, key), value


def _name_part(path: str, tag: str, key: Any) -> str:
    if tag == "object":
        return f"{path}.{key}"
    shown = render_value(key, _KEY_CHARS)
    return f"{shown} in {path}" if tag == "set" else f"{path}[{shown}]"


# ── differences ──────────────────────────────────────────────────────────────────────────────────


def _compare(table: Table, path: str, it: Difference) -> Iterator[Change]:
    """Return the attributes, keys or members that differ."""
    old, new = table.pair(it.tag, it.before), table.pair(it.tag, it.after)
    positions = {text: position for position, text in enumerate(new)}
    for text, (key, now) in it.parts.items():
        _, was = old.get(text, (None, MISSING))
        part = _name_part(path, it.tag, key)
        if it.tag == "set":
            yield Change(part, text in old, text in new)
        else:
            yield Change(part, was, now, (it.number, positions.get(text, 0)))
    was, now = ([text for text in each if text in old and text in new] for each in (old, new))
    if was != now:
        keys = ([new[text][0] for text in order] for order in (was, now))
        yield Change(f"[*{path}]", next(keys), next(keys))


def _compare_items(table: Table, path: str, it: Difference) -> Iterator[Change]:
    old, new = it.before[1], it.after[1]
    if len(old) != len(new):
        was, now = ([*items[it.start :]] or MISSING for items in (old, new))
        yield Change(f"{path}[{it.start}:]", was, now)
        return
    for position, (was, now) in enumerate(zip(old, new, strict=True)):
        if not table.is_same(was, now):
            yield Change(f"{path}[{position}]", was, now, (it.number, position))
