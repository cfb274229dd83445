"""Changes as data for people: what contained code changes, by path, before it is applied.

list_changes(table, names, delta, objects)     [Change("order.status", "open", "paid", ...),
                                                Change("totals['ada']", MISSING, 7, ...)]
Ledger(module).list_parts(variables)           the same after the fact, for code of any policy
edit_changes(delta, changes, {"order.status": "held"})      the delta with other new values
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from njrt.errors import InterceptorError
from njrt.execution.contained.apply import find_start, key_items, pair_attributes
from njrt.execution.contained.contents import MISSING, StateError, find_reader
from njrt.execution.contained.program import Program
from njrt.execution.contained.state import UNBOUND, Delta, Row, Table, decode_value, is_same
from njrt.execution.contained.wire import Data
from njrt.records import record, replace
from njrt.rendering.describe import render_value
from njrt.values.introspection import is_exactly

MAX_LISTED = 2_000
_KEY_CHARS = 60
Read = Callable[[Data], Any]


@record
class Change:
    """A variable, attribute, key or item that differs; a missing value is `MISSING`."""

    path: str
    was: Any
    now: Any
    place: tuple[int | str, int, int] | None = None
    """Where the new value is: the number of the object or the name of the variable, then the part
    of its row and the position there; None for several values at a time."""

    def write(self) -> dict[str, Any]:
        """Return the change as people see it: what was there, and what is there now."""
        values = {"was": self.was, "now": self.now}
        return {name: value for name, value in values.items() if value is not MISSING}


def list_changes(
    table: Table, names: Mapping[str, Any], delta: Delta, objects: Sequence[Any]
) -> list[Change]:
    """Return what a delta changes of a table's objects and of the variables `names`.

    `objects` are those of the table and the new ones.
    """
    read = partial(decode_value, objects=objects, side=table.side)
    found = []
    for name, data in delta.names:
        now = MISSING if data == UNBOUND else read(data)
        found.append(Change(name, names.get(name, MISSING), now, (name, 0, 0)))
    paths = _find_paths(table, names, read) if delta.changed else {}
    for number, after in delta.changed:
        path = paths.get(number) or f"{type(objects[number]).__name__} {number}"
        before = table.rows[number]
        found += _compare_attributes(path, number, before, after, read)
        compare = {"dict": _compare_keys, "set": _compare_members}.get(after[0], _compare_items)
        found += compare(path, number, before, after, read)
    seen: Counter[str] = Counter()
    for position, it in enumerate(found):  # keys that are cut may look alike
        seen[it.path] += 1
        if seen[it.path] > 1:
            found[position] = replace(it, path=f"{it.path} ({seen[it.path]})")
    return found


def list_set(table: Table, names: Mapping[str, Any], owner: Any, name: str, value: Any) -> Change:
    """Return the change of an attribute that is set by a call, as by a property."""
    read = partial(decode_value, objects=table.objects, side=table.side)
    path = _find_paths(table, names, read).get(table.numbers.get(id(owner), -1))
    was = find_reader(type(owner))(owner).get(name, MISSING)
    return Change(f"{path or type(owner).__name__}.{name}", was, value)


def edit_changes(delta: Delta, changes: Sequence[Change], edits: Mapping[str, Any]) -> Delta:
    """Return a delta with other new values by path; raise InterceptorError for other edits."""
    rows = {number: [*row[:2], [*row[2]], [*row[3]]] for number, row in delta.changed}
    names = dict(delta.names)
    places = {it.path: it.place for it in changes if it.now is not MISSING}
    for path, value in edits.items():
        place = places.get(path)
        if place is None or not is_exactly(value, str, int, float, bool, type(None)):
            raise InterceptorError(
                f"an edit of changes gives `{path}` another text, number, truth value or null, if "
                "it has one new value; reject other changes with words"
            )
        owner, part, position = place
        if isinstance(owner, str):
            names[owner] = value
        else:
            rows[owner][part][position] = value
    return Delta([*rows.items()], delta.added, [*names.items()])


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
            added: list[Row] = []
            while len(table.rows) + len(added) < len(table.objects) <= MAX_LISTED:
                added.append(table.read_row(len(table.rows) + len(added)))
            if len(table.objects) > MAX_LISTED:
                raise StateError("too many objects")
            delta = Delta([*changed.items()], added)
            found = list_changes(table, variables, delta, table.objects) if changed else []
            table.send(delta.changed, added)
            table.remember()
        except Exception:  # of the state, or of the program's own methods
            self._table = None
            return []
        return found


# ── paths ────────────────────────────────────────────────────────────────────────────────────────


def _find_paths(table: Table, names: Mapping[str, Any], read: Read) -> dict[int, str]:
    """Return the shortest path from a variable to each object that the variables reach."""
    paths: dict[int, str] = {}
    numbers = ((name, table.numbers.get(id(value))) for name, value in names.items())
    waiting = deque((name, number) for name, number in numbers if number is not None)
    while waiting:
        path, number = waiting.popleft()
        if number not in paths:
            paths[number] = path
            for inner, data in _list_parts(path, table.rows[number], read):
                if type(data) is list and data[0] == "r":
                    waiting.append((inner, data[1]))
    return paths


def _list_parts(path: str, row: Row, read: Read) -> Iterator[tuple[str, Data]]:
    tag, _, items, parts = row
    for name, data in zip(parts[::2], parts[1::2], strict=True):
        yield f"{path}.{name}", data
    if tag == "dict":
        for key, data in zip(items[::2], items[1::2], strict=True):
            if type(data) is list:
                yield f"{path}[{_show(key, read)}]", data
    elif tag in ("list", "tuple", "deque"):
        for position, data in enumerate(items):
            if type(data) is list:
                yield f"{path}[{position}]", data


def _show(key: Data, read: Read) -> str:
    return render_value(read(key), _KEY_CHARS)


# ── differences ──────────────────────────────────────────────────────────────────────────────────


def _compare_attributes(
    path: str, number: int, before: Row, after: Row, read: Read
) -> Iterator[Change]:
    old, new = pair_attributes(before), pair_attributes(after)
    positions = {name: position for position, name in enumerate(after[3][::2])}
    for name in {**new, **old}:
        was, now = old.get(name, MISSING), new.get(name, MISSING)
        if not is_same(was, now):
            place = number, 3, 2 * positions.get(name, 0) + 1
            yield Change(f"{path}.{name}", _read(was, read), _read(now, read), place)


def _compare_keys(path: str, number: int, before: Row, after: Row, read: Read) -> Iterator[Change]:
    old, new = key_items(before), key_items(after)
    positions = {key: position for position, key in enumerate(new)}
    for text in {**new, **old}:
        (key, was), (_, now) = (each.get(text, (None, MISSING)) for each in (old, new))
        if not is_same(was, now):
            key = (new.get(text) or old[text])[0]
            place = number, 2, 2 * positions.get(text, 0) + 1
            yield Change(f"{path}[{_show(key, read)}]", _read(was, read), _read(now, read), place)
    was, now = ([it for it in each if it in old and it in new] for each in (old, new))
    if was != now:
        keys = ([read(new[it][0]) for it in order] for order in (was, now))
        yield Change(f"[*{path}]", next(keys), next(keys))


def _compare_members(
    path: str, number: int, before: Row, after: Row, read: Read
) -> Iterator[Change]:
    old, new = key_items(before), key_items(after)
    for text, (member, _) in {**old, **new}.items():
        if (text in old) != (text in new):
            yield Change(f"{_show(member, read)} in {path}", text in old, text in new)


def _compare_items(path: str, number: int, before: Row, after: Row, read: Read) -> Iterator[Change]:
    old, new = before[2], after[2]
    if len(old) == len(new):
        for position, (was, now) in enumerate(zip(old, new, strict=True)):
            if not is_same(was, now):
                place = number, 2, position
                yield Change(f"{path}[{position}]", read(was), read(now), place)
        return
    start = find_start(old, new)
    was, now = ([*map(read, items[start:])] for items in (old, new))
    yield Change(f"{path}[{start}:]", was or MISSING, now or MISSING)


def _read(data: Data, read: Read) -> Any:
    return MISSING if data is MISSING else read(data)
