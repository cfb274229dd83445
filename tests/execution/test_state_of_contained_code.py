"""State in, changes out: identity, exact values, whole or not at all, forged changes, conflicts, undo.

The child's side runs here, on its own table, so that a change can be made between two messages.
"""

from __future__ import annotations

import collections
import copy
import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from njrt.execution.contained.apply import ConflictError, apply_delta, undo, update
from njrt.execution.contained.child import Child
from njrt.execution.contained.contents import StateError
from njrt.execution.contained.program import Program
from njrt.execution.contained.wire import WireError


@dataclass
class Enemy:
    """An own class."""

    health: int
    name: str = ""

    def __setattr__(self, name: str, value: object) -> None:
        if value == "refused":
            raise ValueError(value)
        object.__setattr__(self, name, value)


@dataclass
class Row:
    """An own class whose objects the child makes."""

    health: int
    name: str = ""


class Bag:
    """An own class with any attributes."""

    a: Any
    b: Any

    def __init__(self, **held: Any) -> None:
        self.__dict__ |= held


class Transaction:
    """The two sides of contained code on the same objects (state: their tables)."""

    def __init__(self, **names: Any) -> None:
        self.program = Program({__name__}, {})
        self.child = Child(None)  # type: ignore[arg-type]
        data = {name: self.program.table.encode(value) for name, value in names.items()}
        self.program.classes.name(Row)
        self.send()
        self.program.mark_writable(names.values())
        self.names = {name: self.child.table.decode(it) for name, it in self.pass_on(data).items()}
        self.names["Row"] = self.child.classes.find(f"{__name__}:Row")

    def pass_on(self, data: Any) -> Any:
        return json.loads(json.dumps(data))

    def send(self) -> None:
        """Send what the program has changed to the child."""
        table = self.program.table
        changed = table.find_changed()
        rows = table.write_changed(changed)
        images, added = table.write_added(len(table.known))
        table.agree(changed, images)
        self.child.describe(self.pass_on(self.program.take_new()))
        update(self.child.table, self.pass_on([rows, added, {}]))
        table.remember()
        self.child.table.remember()

    def run(self, code: str) -> Any:
        """Run code in the child; return what it has changed."""
        exec(code, self.names)
        delta = self.child.take_delta({})
        self.child.table.remember()
        return self.pass_on(delta)

    def commit(self, code: str) -> Any:
        """Run code in the child, and apply what it has changed."""
        return apply_delta(self.program.table, self.run(code), self.program)[0]


def test_the_objects_of_the_program_stay_the_same() -> None:
    orc = Row(40, "orc")
    enemies, boxes = [Row(12), orc], {"a": []}  # type: ignore[var-annotated]
    boxes["b"] = enemies
    both = Transaction(enemies=enemies, boxes=boxes)
    both.commit(
        "for e in list(enemies):\n    e.health -= 15\n    if e.health <= 0: enemies.remove(e)\n"
        "boxes['a'].append(enemies[0])\nboxes['c'] = [Row(1, 'new')]\nassert boxes['b'] is enemies"
    )
    assert boxes["b"] is enemies
    assert enemies[0] is orc is boxes["a"][0]
    assert (orc.health, boxes["c"]) == (25, [Row(1, "new")])


UTC = datetime.UTC
VALUES: list[Any] = [
    *(None, True, 1, 1.0, -0.0, 10**400, 2j, "a", b"b", range(3), Decimal("1.10")),
    *(datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3), (1, (2, frozenset({3})))),
    *(datetime.datetime(2026, 1, 2, 3, tzinfo=UTC), datetime.time(3, fold=1), UTC),
    *([[]], {1: {2}}, {"k": (1, [2])}, {(1, 2): "t"}),
    *(
        collections.Counter("ab"),
        collections.OrderedDict(a=1),
        collections.deque([1], 3),
        SimpleNamespace(a=1),
    ),
    *(collections.defaultdict(list, {1: [2]}), Row(1), {1.5, "a"}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda it: type(it).__name__)
def test_values_cross_exactly_and_back(value: Any) -> None:
    given, kept = [value], [0]
    both = Transaction(given=given, kept=kept)
    shown: list[str] = []
    both.names["show"] = lambda it: shown.append(repr(it))
    both.commit("show(given)\nimport copy\nkept[0] = copy.deepcopy(given[0])")
    assert shown == [repr(given)]
    assert repr(kept) == repr(given)


@pytest.mark.parametrize(("before", "after"), [(1, "True"), (0.0, "-0.0"), (1, "1.0"), (True, "1")])
def test_an_equal_value_of_another_type_is_a_change(before: Any, after: str) -> None:
    xs = [before]
    Transaction(xs=xs).commit(f"xs[0] = {after}")
    assert repr(xs) == f"[{after}]"


CONTENTS: dict[str, tuple[Any, str]] = {
    "a dict is reordered": ({"a": 1, "b": 2}, "it['a'] = it.pop('a')"),
    "a key is renamed": ({"a": 1, "b": 2}, "it['c'] = it.pop('a')"),
    "a set": ({1, 2}, "it.discard(1)\nit.add(3)"),
    "a deque": (collections.deque([1, 2], 3), "it.appendleft(0)\nit.append(3)"),
    "a counter": (collections.Counter("a"), "it.update('ab')"),
    "an ordered dict": (collections.OrderedDict(a=1, b=2), "it.move_to_end('a')"),
    "an attribute is deleted": (Bag(a=1, b=2), "del it.a"),
    "an attribute is renamed": (Bag(a=1), "it.b = it.a\ndel it.a"),
    "a list is reversed": ([1, [2], 3], "it.reverse()"),
    "members move": ([[1, 2], [3]], "it[1].insert(0, it[0].pop())"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_contents_change_in_place_as_in_python(name: str) -> None:
    value, code = CONTENTS[name]
    plain: dict[str, Any] = {"it": copy.deepcopy(value)}
    exec(code, plain)
    both = Transaction(it=value)
    done = both.commit(code)
    assert show(value) == show(plain["it"])
    undo(done)
    assert show(value) == show(Transaction(it=value).names["it"])


def show(value: Any) -> str:
    return repr(vars(value) if type(value).__name__ == "Bag" else value)


@pytest.mark.parametrize(
    "code",
    [
        "xs.append(1)\nenemy.health = 3\nenemy.name = 'refused'",
        "xs.clear()\nenemy.secret = 1",
        "table['k'] = 1\nenemy.name = 'refused'",
        "xs.clear()\nenemy.health = 'many'",
        "xs.clear()\npair[1].append(2)",
    ],
)
def test_changes_apply_whole_or_not_at_all(code: str) -> None:
    names = {"xs": [0], "table": {"a": 1}, "enemy": Enemy(9), "pair": (1, [1])}
    both = Transaction(**names)
    with pytest.raises((ValueError, StateError)):
        both.commit(code)
    assert names == {"xs": [0], "table": {"a": 1}, "enemy": Enemy(9), "pair": (1, [1])}


def test_other_objects_are_handles() -> None:
    file, xs = object(), []  # type: ignore[var-annotated]
    both = Transaction(xs=xs, thing=file)
    both.commit("xs.append(thing)")
    assert xs == [file]
    for code in ("thing.close()", "thing.name = 1"):
        with pytest.raises(AttributeError, match="in contained code"):
            both.commit(code)


def test_what_the_program_changes_meanwhile_reaches_the_child_by_difference() -> None:
    xs, table, row = [1, 2], {"a": 1}, Row(1)
    both = Transaction(xs=xs, table=table, row=row, more=[])
    both.commit("xs.append(3)\nitems, keys = iter(xs), iter(table)\nnext(items), next(keys)")
    xs.append(4)
    table["a"] = 2
    row.health, row.name = 5, "new"
    both.commit("more.append(1)")
    both.send()
    both.run(
        "assert [*items] == [2, 3, 4] and table == {'a': 2} and (row.health, row.name) == (5, 'new')"
    )


@pytest.mark.parametrize("held", [{}, {"a": 1}, {"a": 1, "b": 2}, {"b": 1, "a": 1}], ids=str)
@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize(
    "change",
    [
        "bag.a = 3",
        "bag.b = None",
        "bag.__dict__.clear()",
        "bag.b = bag.__dict__.pop('a', 1)",
        "bag.__dict__ = {'a': 4}",
        "bag._hidden = 5",
    ],
)
def test_any_change_of_attributes_reaches_the_child(
    held: dict[str, int], others: int, change: str
) -> None:
    bag = Bag(**held)
    bags = [bag, *(Bag(**held) for _ in range(others))]
    both = Transaction(bags=bags)
    for step in (change, "bag.a = 7", change):
        exec(step, {"bag": bag})
        both.send()
        public = {name: it for name, it in vars(bag).items() if name[0] != "_"}
        both.run(f"assert [vars(it) for it in bags] == {[public, *[held] * others]}")


@pytest.mark.parametrize(
    ("ours", "theirs", "after"),
    [
        ("row.health = 2", "row.name = 'b'", "Row(health=2, name='b')"),
        ("xs.append(1)", "xs.append(2)", "[0, 2, 1]"),
        ("table['x'] = 1", "table['y'] = 2", "{'a': 0, 'y': 2, 'x': 1}"),
        ("some.add(1)", "some.add(2)", "{0, 1, 2}"),
        ("row.health = 2", "row.health = 3", None),
        ("xs[0] = 1", "xs.append(2)", None),
        ("table['a'] = 1", "del table['a']", None),
        ("some.discard(0)", "some.discard(0)", None),
    ],
)
def test_changes_of_both_sides_are_merged_or_a_conflict(ours: str, theirs: str, after: Any) -> None:
    names: dict[str, Any] = {"row": Row(1), "xs": [0], "table": {"a": 0}, "some": {0}}
    both = Transaction(**names)
    delta = both.run(ours)
    exec(theirs, {}, names)
    name = next(it for it in names if ours.startswith(it))
    held = repr(names[name])
    if after is None and ours != theirs:
        with pytest.raises(ConflictError):
            apply_delta(both.program.table, delta, both.program)
        assert repr(names[name]) == held
    else:
        apply_delta(both.program.table, delta, both.program)
        assert repr(names[name]) == (after or "set()")


def test_undo_leaves_what_was_changed_since() -> None:
    xs, row = [1], Row(1)
    both = Transaction(xs=xs, row=row)
    done = both.commit("xs.append(2)\nrow.health = 2\nrow.name = 'code'")
    row.name = "program"
    undo(done)
    assert (xs, row) == ([1], Row(1, "program"))


NO_VALUES = [["r", 99], ["r", -1], ["r", True], ["r"], ["r", 0, 0], ["date", ["r", 0]], {}, []]
NO_ROWS = [[["health"], []], [["_x"], [1]], [[3], [1]], [["health", "health"], [1, 2]]]
FORGED: list[Any] = [
    *([[0, [], [it]]] for it in [*NO_VALUES, ["date", "x"]]),
    *([[1, *it]] for it in NO_ROWS),
    *([[0, [1], []]], [[0, [1], [1]]], [[7, [], []]], [[True, [], []]]),
    [[0, [], []], [0, [], []]],
]


@pytest.mark.parametrize("changed", FORGED, ids=str)
def test_forged_changes_are_refused(changed: Any) -> None:
    xs = [Row(1)]
    table = (both := Transaction(xs=xs)).program.table
    with pytest.raises((WireError, StateError)):
        apply_delta(table, [changed, [], {}], both.program)
    assert xs == [Row(1)]


def test_the_keys_of_a_set_are_filled_before_they_are_hashed() -> None:
    @dataclass(frozen=True)
    class Key:
        part: tuple[int, ...]

    keys = {Key((1,)), Key((2,))}
    table = {frozenset([Key((1,)), Key((3,))]): 1}
    both = Transaction(keys=keys, table=table, out=(out := []))
    both.commit("out += [sorted(k.part for k in keys), [sorted(k.part for k in f) for f in table]]")
    assert out == [[(1,), (2,)], [[(1,), (3,)]]]


def test_a_list_that_is_being_sorted_is_not_taken_for_empty() -> None:
    both = Transaction(xs=(xs := [2, 1]))
    both.names["take"] = lambda: both.child.take_delta({})
    with pytest.raises(StateError, match="being sorted"):
        both.commit("xs.sort(key=lambda x: take())")
    assert xs == [2, 1]
