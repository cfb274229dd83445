"""Apply the changes of contained code to the program's objects, whole or not at all.

    apply_delta(table, delta, program)        the changes, to be undone if the piece fails
    apply_delta(table, forged, program)       WireError or StateError, and nothing has changed
    undo(done)                              what the code has changed, unless it was changed again

The child is not trusted. Everything is checked before the first object is touched: the form of
each row, the numbers, that an object keeps its kind and class, that it may change, and that each
attribute may be set. If applying fails all the same, such as by the program's `__setattr__` or
`__hash__`, the touched objects get their old contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from njrt.data.records import record
from njrt.execution.contained.contents import (
    MISSING,
    SEQUENCES,
    Image,
    find_reader,
    is_identical,
    read,
    restore,
)
from njrt.execution.contained.making import Delta, read_delta
from njrt.execution.contained.state import Table
from njrt.execution.contained.wire import Data
from njrt.values.introspection import set_raw

if TYPE_CHECKING:
    from njrt.execution.contained.program import Program


class ConflictError(Exception):
    """The program and the code have changed the same thing at the same time."""


@record
class Done:
    """A change that was applied."""

    value: Any
    tag: str
    before: Image
    after: Image


@record
class Difference:
    """What differs between two contents of an object."""

    number: int
    tag: str
    value: Any
    before: Image
    after: Image
    parts: Mapping[str, tuple[Any, Any]]
    """The attributes, keys or members that differ, each with its new value, or `MISSING`."""
    start: int = 0
    """Where the items of a sequence begin to differ."""
    is_reordered: bool = False
    """Whether the code has removed keys and added them again."""


Decide = Callable[[Delta, Sequence[Difference]], Delta]
"""Returns the changes to apply in place of checked ones."""


def apply_delta(
    table: Table, data: Data, program: Program, decide: Decide | None = None
) -> tuple[list[Done], Delta, Delta]:
    """Apply changes, and give numbers to the new objects.

    Returns what was done, what the other side knows, and what was applied, which differs if
    `decide` returns other changes. Raises WireError for what is no change, StateError for a change
    that is not allowed, ConflictError, and exceptions of `decide` and of the program's own methods;
    in each case nothing has changed.
    """
    asked = delta = read_delta(table, data)
    images: list[tuple[Difference, Image]] = []
    try:
        changes = _check(table, delta, program)
        if decide is not None:
            delta = decide(asked, changes)
            changes = changes if delta is asked else _check(table, delta, program)
        images += [(it, _take_image(it.value, it.tag)) for it in changes]
        for change in changes:
            _change(change, setattr, delattr)
    except BaseException:
        for change, image in images:
            _put_back(change.value, change.tag, image, _take_image(change.value, change.tag))
        table.forget_added()
        raise
    table.agree(asked.changed, asked.images)
    table.forget_added()
    done = [Done(it.value, it.tag, was, _take_image(it.value, it.tag)) for it, was in images]
    return done, asked, delta


def _check(table: Table, delta: Delta, program: Program) -> list[Difference]:
    """Return the changes if everything is allowed."""
    elsewhere = table.find_changed() if delta.changed else {}
    for number, (names, values) in enumerate(delta.images, len(table.known)):
        if table.kinds[number][0] == "object":
            for name, new in zip(names, values, strict=True):
                program.check_attribute(table.objects[number], name, new)
    changes = [*list_differences(table, delta.changed)]
    for change in changes:
        program.check_change(change.number, change.value)
        for name, new in change.parts.values() if change.tag == "object" else ():
            program.check_attribute(change.value, name, new)
        if change.number in elsewhere:
            _check_conflict(table, change, elsewhere[change.number])
    return changes


def update(table: Table, data: Data) -> Mapping[str, Any]:
    """Apply the changes of the program in the child, which trusts it; return the names."""
    delta = read_delta(table, data)
    for change in list_differences(table, delta.changed):
        _change(change, set_raw, set_raw)
    table.agree(delta.changed, delta.images)
    return delta.names


# ── differences ──────────────────────────────────────────────────────────────────────────────────


def list_differences(table: Table, changed: Mapping[int, Image]) -> Iterator[Difference]:
    """Return how contents differ from those that both sides know."""
    for number, after in changed.items():
        tag, before = table.kinds[number][0], table.known[number]
        parts: Mapping[str, tuple[Any, Any]] = {}
        start, is_reordered = 0, False
        if tag in SEQUENCES:
            start = _find_start(table, before[1], after[1])
        else:
            parts = _find_parts(table, tag, before, after)
        if tag == "dict":
            old, new = table.pair(tag, before), table.pair(tag, after)
            order = [*(it for it in old if it in new), *(it for it in new if it not in old)]
            is_reordered = order != [*new]
        yield Difference(
            number, tag, table.objects[number], before, after, parts, start, is_reordered
        )


def _find_parts(table: Table, tag: str, before: Image, after: Image) -> dict[str, tuple[Any, Any]]:
    if tag == "object" and before[0] == after[0]:
        triples = zip(*before, after[1], strict=True)
        return {name: (name, new) for name, old, new in triples if not table.is_same(old, new)}
    old, new = table.pair(tag, before), table.pair(tag, after)
    put = {
        text: pair
        for text, pair in new.items()
        if text not in old or not table.is_same(pair[1], old[text][1])
    }
    return put | {text: (old[text][0], MISSING) for text in old if text not in new}


def _find_start(table: Table, before: Sequence[Any], after: Sequence[Any]) -> int:
    """Return where two lists of items begin to differ."""
    pairs = enumerate(zip(before, after, strict=False))
    most = min(len(before), len(after))
    return next((n for n, pair in pairs if not table.is_same(*pair)), most)


def _check_conflict(table: Table, change: Difference, now: Image) -> None:
    """Raise ConflictError if the program has changed the same part of an object meanwhile."""
    if change.tag in SEQUENCES:
        items = change.before[1]
        starts = {_find_start(table, items, now[1]), change.start}
        both = [] if starts == {len(items)} and change.tag == "list" else ["items"]
    else:
        theirs = _find_parts(table, change.tag, change.before, now)
        both = [
            text
            for text, (_, new) in change.parts.items()
            if text in theirs and not table.is_same(theirs[text][1], new)
        ]
    if both:
        kind = type(change.value).__name__
        raise ConflictError(
            f"the program has changed {', '.join(both)} of a {kind} at the same time; "
            "run the code again"
        )


def _change(
    change: Difference, set_: Callable[[Any, str, Any], None], delete: Callable[[Any, str], None]
) -> None:
    """Change an object by the difference, so that what is being iterated is not emptied."""
    value, tag, parts = change.value, change.tag, change.parts.values()
    match tag:
        case "object":
            for name, new in parts:
                if new is MISSING:
                    delete(value, name)
                else:
                    set_(value, name, new)
        case "set":
            value.difference_update([key for key, new in parts if new is MISSING])
            value.update([key for key, new in parts if new is not MISSING])
        case "dict":
            for key, new in parts:
                if new is MISSING:
                    value.pop(key, None)
                else:
                    value[key] = new
            for key in change.after[0] if change.is_reordered else ():
                value[key] = value.pop(key)
        case "deque":
            restore(tag, value, change.after)
        case _:
            is_appended = change.start == len(change.before[1])  # as the program may have meanwhile
            value[len(value) if is_appended else change.start :] = change.after[1][change.start :]


# ── putting back ─────────────────────────────────────────────────────────────────────────────────


def _take_image(value: Any, tag: str) -> Image:
    """Return the contents of an object, with its private attributes."""
    if tag != "object":
        return read(tag, value)
    held = find_reader(type(value))(value)
    return (*held,), (*held.values(),)


def undo(done: Iterable[Done]) -> None:
    """Put back what was changed, the last change first, unless it has been changed since."""
    for it in reversed([*done]):
        _put_back(it.value, it.tag, it.before, it.after)


def _put_back(value: Any, tag: str, before: Image, after: Image) -> None:
    """Put back contents that were changed from one image to another, as far as they still are.

    The program's methods do not run.
    """
    now = _take_image(value, tag)
    if tag != "object":
        if is_identical(now, after) and not is_identical(before, after):
            restore(tag, value, before)
        return
    old, new, held = (dict(zip(*image, strict=True)) for image in (before, after, now))
    for name in {**old, **new}:
        was, changed = old.get(name, MISSING), new.get(name, MISSING)
        if was is not changed and held.get(name, MISSING) is changed:
            set_raw(value, name, *([] if was is MISSING else [was]))
