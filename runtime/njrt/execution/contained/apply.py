"""Apply the changes of contained code to the program's objects, whole or not at all.

    apply_delta(table, delta, rules)        the changes, to be undone if the piece fails
    apply_delta(table, forged, rules)       WireError or StateError, and nothing has changed
    undo(done)                              what the code has changed, unless it was changed again

The child is not trusted. Everything is checked before the first object is touched: the form of
each row, the numbers, that an object keeps its kind and class, that it may change, and that each
attribute may be set. If applying fails all the same, such as by the program's `__setattr__` or
`__hash__`, the touched objects get their old contents.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from njrt.execution.contained.contents import MISSING, UNCHANGING, find_reader, iterate, set_raw
from njrt.execution.contained.making import check_keys, make_objects
from njrt.execution.contained.state import Delta, Row, Table, decode_value, is_same
from njrt.execution.contained.wire import Data, WireError
from njrt.records import record


class ConflictError(Exception):
    """The program and the code have changed the same thing at the same time."""


class Rules(Protocol):
    """What the block may change."""

    def check_change(self, number: int, value: Any) -> None:
        """Raise StateError unless the object with this number may change."""

    def check_attribute(self, value: Any, name: str, new: Any) -> None:
        """Raise StateError unless an attribute may get this value, or be deleted (`MISSING`)."""


@record
class Image:
    """The contents of an object at one moment."""

    items: list[Any]
    attributes: dict[str, Any]


@record
class Done:
    """A change that was applied."""

    value: Any
    tag: str
    before: Image
    after: Image


@record
class _Change:
    number: int
    tag: str
    before: Row
    after: Row
    value: Any
    attributes: dict[str, Any]
    """The new values of the attributes that differ, or `MISSING`."""


Decide = Callable[[Delta, Sequence[Any]], Delta]
"""Returns the delta to apply in place of a checked one; gets it with all objects by number."""


def apply_delta(
    table: Table, delta: Delta, rules: Rules, decide: Decide | None = None
) -> list[Done]:
    """Apply changes, and give numbers to the new objects; return what was done.

    The other side knows `delta`, even if `decide` returns another one. Raises WireError for what
    is no change, StateError for a change that is not allowed, ConflictError, and exceptions of
    `decide` and of the program's own methods; in each case nothing has changed.
    """
    changes, made, objects = _check(table, delta, rules)
    if decide is not None:
        changes, made, objects = _check(table, decide(delta, objects), rules)
    images = [(it, take_image(it.value, it.tag)) for it in changes]
    try:
        for change in changes:
            _change(table, objects, change)
    except BaseException:
        for change, image in images:
            _put_back(change.value, change.tag, image, take_image(change.value, change.tag))
        raise
    table.add_made(made, delta.added)
    table.agree(delta.changed, delta.added)
    return [Done(it.value, it.tag, was, take_image(it.value, it.tag)) for it, was in images]


def _check(
    table: Table, delta: Delta, rules: Rules
) -> tuple[list[_Change], list[Any], Sequence[Any]]:
    """Return the changes, the new objects and all objects, if everything is allowed."""
    table.forget_added()
    made = make_objects(delta.added, table)
    objects = [*table.objects, *made]
    elsewhere = _find_elsewhere(table, made, delta.added) if delta.changed else {}
    for value, row in zip(made, delta.added, strict=True):
        for name in row[3][::2]:
            rules.check_attribute(value, name, find_reader(type(value))(value)[name])
    changes = [_prepare(table, objects, *pair) for pair in delta.changed]
    for change in changes:
        rules.check_change(change.number, change.value)
        for name, new in change.attributes.items():
            rules.check_attribute(change.value, name, new)
        if change.number in elsewhere:
            _check_conflict(change, elsewhere[change.number])
    return changes, made, objects


def update(table: Table, delta: Delta) -> None:
    """Apply the changes of the program in the child, which trusts it."""
    made = make_objects(delta.added, table)
    objects = [*table.objects, *made]
    for number, row in delta.changed:
        change = _prepare(table, objects, number, row)
        _change_items(table, objects, change)
        for name, new in change.attributes.items():
            set_raw(change.value, name, new)
    table.add_made(made, delta.added)
    table.agree(delta.changed, delta.added)


def _find_elsewhere(table: Table, made: Sequence[Any], added: Sequence[Row]) -> dict[int, Row]:
    """Return what the program has changed; its new objects have no numbers of the code's."""
    numbers, first = dict(table.numbers), len(table.objects)
    try:
        table.add_made(made, added)
        return table.find_changed()
    finally:
        table.numbers = numbers
        del table.objects[first:], table.kinds[first:]


def _prepare(table: Table, objects: Sequence[Any], number: int, after: Row) -> _Change:
    before = table.rows[number]
    if after[:2] != before[:2] or after[0] in UNCHANGING:
        raise WireError("an object cannot change its kind")
    old, new = pair_attributes(before), pair_attributes(after)
    names = [it for it in new if it not in old or not is_same(old[it], new[it])]
    attributes = {it: _decode(table, new[it], objects) for it in names}
    attributes |= dict.fromkeys(old.keys() - new.keys(), MISSING)
    return _Change(number, after[0], before, after, table.objects[number], attributes)


def pair_attributes(row: Row) -> dict[str, Data]:
    """Return the attributes of a row by name."""
    return dict(zip(row[3][::2], row[3][1::2], strict=True))


def _decode(table: Table, data: Data, objects: Sequence[Any]) -> Any:
    return decode_value(data, objects, table.side)


# ── differences ──────────────────────────────────────────────────────────────────────────────────


def find_start(before: Sequence[Data], after: Sequence[Data]) -> int:
    """Return where two lists of items begin to differ."""
    pairs = enumerate(zip(before, after, strict=False))
    most = min(len(before), len(after))
    return next((n for n, pair in pairs if not is_same(*pair)), most)


def key_items(row: Row) -> dict[str, tuple[Data, Data]]:
    """Return the keys and values of a dict's or set's row, by the text of the key's data."""
    items = row[2]
    if row[0] == "set":
        return {repr(it): (it, None) for it in items}
    return {repr(key): (key, it) for key, it in zip(items[::2], items[1::2], strict=True)}


def _check_conflict(change: _Change, now: Row) -> None:
    """Raise ConflictError if the program has changed the same part of an object meanwhile."""
    old, held, set_ = (pair_attributes(row) for row in (change.before, now, change.after))
    both = {
        it
        for it in change.attributes
        if not (is_same(old.get(it), held.get(it)) or is_same(set_.get(it), held.get(it)))
    }
    if change.tag in ("dict", "set"):
        was, has, new = (key_items(it) for it in (change.before, now, change.after))
        theirs = {key for key in was | has if not is_same(was.get(key), has.get(key))}
        ours = {key for key in theirs if not is_same(was.get(key), new.get(key))}
        both |= {key for key in ours if not is_same(has.get(key), new.get(key))}
    elif not is_same(change.before[2], now[2]) and not is_same(change.before[2], change.after[2]):
        length = len(change.before[2])
        starts = {find_start(change.before[2], it) for it in (now[2], change.after[2])}
        if starts != {length} or change.tag != "list":
            both.add("its items")
    if both:
        kind = type(change.value).__name__
        raise ConflictError(
            f"the program has changed {', '.join(sorted(both))} of a {kind} at the same time; "
            "run the code again"
        )


def _change(table: Table, objects: Sequence[Any], change: _Change) -> None:
    """Change an object as the program's own code would set its attributes."""
    _change_items(table, objects, change)
    for name, new in change.attributes.items():
        if new is MISSING:
            delattr(change.value, name)
        else:
            setattr(change.value, name, new)


def _change_items(table: Table, objects: Sequence[Any], change: _Change) -> None:
    """Change the items by the difference, so that what is being iterated is not emptied."""
    value, tag = change.value, change.tag
    before, after = change.before[2], change.after[2]
    if is_same(before, after):
        return
    if tag in ("dict", "set"):
        _change_keys(table, objects, change)
        return
    start = find_start(before, after)
    new = [_decode(table, it, objects) for it in after[start:]]
    if tag == "list":
        is_appended = start == len(before)  # the program may have appended meanwhile
        list.__setitem__(value, slice(len(value) if is_appended else start, None), new)
    else:
        for _ in range(len(value) - start):
            value.pop()
        value.extend(new)


def _change_keys(table: Table, objects: Sequence[Any], change: _Change) -> None:
    value, tag = change.value, change.tag
    was, now = key_items(change.before), key_items(change.after)
    removed = [_decode(table, was[it][0], objects) for it in was if it not in now]
    put = {it: now[it] for it in now if it not in was or not is_same(was[it], now[it])}
    pairs = [(_decode(table, k, objects), _decode(table, v, objects)) for k, v in put.values()]
    check_keys(key for key, _ in pairs)
    if tag == "set":
        set.difference_update(value, removed)
        set.update(value, [key for key, _ in pairs])
        return
    kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
    for key in removed:
        kind.pop(value, key, None)
    for key, new in pairs:
        kind.__setitem__(value, key, new)
    order = [*(it for it in was if it in now), *(it for it in now if it not in was)]
    if order != [*now]:  # the code has removed keys and added them again
        for key, _ in now.values():
            found = _decode(table, key, objects)
            kind.__setitem__(value, found, kind.pop(value, found))


# ── images ───────────────────────────────────────────────────────────────────────────────────────


def take_image(value: Any, tag: str) -> Image:
    """Return the contents of an object, with its private attributes."""
    return Image([*iterate(tag, value)], dict(find_reader(type(value))(value)))


def _put_back(value: Any, tag: str, before: Image, after: Image) -> None:
    """Put back contents that were changed from one image to another, as far as they still are.

    The program's methods do not run.
    """
    now = take_image(value, tag)
    if not _is_identical(before.items, after.items) and _is_identical(now.items, after.items):
        _restore_items(value, tag, before.items)
    for name in dict.fromkeys((*before.attributes, *after.attributes)):
        was, new = (each.attributes.get(name, MISSING) for each in (before, after))
        if was is not new and now.attributes.get(name, MISSING) is new:
            set_raw(value, name, was)


def _restore_items(value: Any, tag: str, items: list[Any]) -> None:
    match tag:
        case "list":
            list.__setitem__(value, slice(None), items)
        case "deque":
            value.clear()
            value.extend(items)
        case "set":
            set.clear(value)
            set.update(value, items)
        case "dict":
            kind: Any = OrderedDict if isinstance(value, OrderedDict) else dict
            kind.clear(value)
            for key, it in zip(items[::2], items[1::2], strict=True):
                kind.__setitem__(value, key, it)


def undo(done: Iterable[Done]) -> None:
    """Put back what was changed, the last change first, unless it has been changed since."""
    for it in reversed([*done]):
        _put_back(it.value, it.tag, it.before, it.after)


def _is_identical(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
