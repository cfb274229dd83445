"""`njrt.approve(changes=...)`: what contained code changes is decided about before it is applied."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playing import carry_out

import njrt
from njrt.testing import run

pytestmark = pytest.mark.usefixtures("contained")

Changes = dict[str, dict[str, Any]]


@dataclass
class Order:
    id: int
    status: str = "open"
    tags: list[str] = field(default_factory=list)
    _private: int = 0


class World:
    """The variables of a block, and who decides about its changes (state: what was asked)."""

    def __init__(self, decide: Callable[[Changes], njrt.Decision] | None = None) -> None:
        first = Order(1)
        self.orders = [first, Order(2), Order(3, tags=["a"])]
        self.table: dict[Any, Any] = {"old": 5, (1, 2): {"inner": [first]}}
        self.seen, self.queue = {1, 2}, deque([1, 2])
        self.note = "text"
        self.decide = decide or (lambda changes: njrt.Accept())
        self.asked: list[Changes] = []
        self.log: list[Any] = []
        self.model = njrt.Scripted([])

    def choose(self, pending: njrt.PendingEffect) -> njrt.Decision:
        assert isinstance(pending.effect, njrt.Touch)
        assert pending.effect.function == "njrt.apply"
        self.asked.append(pending.effect.arguments["changes"])
        return self.decide(self.asked[-1])

    def pay(self, order: Order) -> None:
        self.log.append((order.id, order.status))
        order.tags.append("paid")

    def run(self, *codes: str, intercept: Any = None, **options: Any) -> None:
        orders, table, seen, queue = (*(self.orders, self.table, self.seen, self.queue),)
        note, pay = self.note, self.pay
        last = run("note = note", done=True)
        self.model = njrt.Scripted([*(run(code) for code in codes), last])
        decided = intercept or njrt.approve(changes=self.choose)
        with njrt.using(model=self.model, intercept=decided, **options):
            njrt.run(
                "natural\nUse <orders>, <table>, <seen>, <queue>, <pay>: <:note>.",
                lambda: (orders, table, seen, queue, note, pay),
                writes="note",
                at="shop.njpy:3",
                effects="direct",
            )
        self.note = note

    def show(self) -> str:
        parts = self.orders, self.table, sorted(self.seen), self.queue, self.note
        return repr(parts)


def edit(path: str, now: Any) -> Callable[[Changes], njrt.Decision]:
    """Return a function that gives one change another new value."""

    def decide(changes: Changes) -> njrt.Decision:
        edited = {**changes, path: {**changes.get(path, {}), "now": now}}
        return njrt.Edit(njrt.Touch("njrt.apply", {"changes": edited}))

    return decide


LISTED: dict[str, Changes] = {
    "orders[1].status = 'paid'": {"orders[1].status": {"was": "open", "now": "paid"}},
    "del orders[1].status": {"orders[1].status": {"was": "open"}},
    "table['new'] = [1, {'a': None}]": {"table['new']": {"now": [1, {"a": None}]}},
    "del table['old']": {"table['old']": {"was": 5}},
    "table['old'] = True": {"table['old']": {"was": 5, "now": True}},
    "table[1, 2]['inner'].append(7)": {"table[(1, 2)]['inner'][1:]": {"now": [7]}},
    "orders[2].tags += ['b', 'c']": {"orders[2].tags[1:]": {"now": ["b", "c"]}},
    "orders[2].tags[0] = 'z'": {"orders[2].tags[0]": {"was": "a", "now": "z"}},
    "orders[2].tags.clear()": {"orders[2].tags[0:]": {"was": ["a"]}},
    "seen.symmetric_difference_update({2, 3})": {"2 in seen": {"was": True, "now": False}, "3 in seen": {"was": False, "now": True}},
    "table['old'] = table.pop('old')": {
        "[*table]": {"was": ["old", [1, 2]], "now": [[1, 2], "old"]}
    },
    "queue.popleft()": {"queue[0:]": {"was": [1, 2], "now": [2]}},
    "note = 'new'": {"note": {"was": "text", "now": "new"}},
    "table['x'] = orders[1]": {
        "table['x']": {"now": "Order(id=2, status='open', tags=[], _private=0)"}
    },
    "made = {}\nfor o in orders: made[o.id] = o\nlen(made)": {},
    "note": {},
    "orders[0].status = 'x'\norders[0].status = 'open'": {},
}  # fmt: skip


@pytest.mark.parametrize("code", LISTED)
def test_changes_are_listed_by_path(code: str) -> None:
    world, plain = World(), World()
    world.run(code)
    assert world.asked == ([LISTED[code]] if LISTED[code] else [])
    names = {name: getattr(plain, name) for name in ("orders", "table", "seen", "queue")}
    exec(code, names | {"note": plain.note}, names)
    assert world.orders == plain.orders
    assert world.table == plain.table


@pytest.mark.parametrize("code", LISTED)
def test_traces_list_the_same_after_the_fact(code: str, policy: str, tmp_path: Path) -> None:
    world, path = World(), tmp_path / "trace.jsonl"
    with njrt.using(trace=path):
        world.run(code, intercept=lambda _: njrt.Accept(), policy=policy)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    performed = next(it for it in lines if it["event"] == "performed")
    of_objects = {path: it for path, it in LISTED[code].items() if path != "note"}
    assert performed.get("parts", {}) == of_objects


def test_large_states_are_not_listed_after_the_fact(tmp_path: Path) -> None:
    world, path = World(), tmp_path / "trace.jsonl"
    world.table["many"] = [[] for _ in range(3_000)]
    with njrt.using(trace=path):
        world.run("table.clear()", intercept=lambda _: njrt.Accept())
    assert '"parts"' not in path.read_text()


def test_keys_that_look_alike_are_all_listed() -> None:
    world = World()
    world.run("for n in range(3): table['x' * 300 + str(n)] = n")
    assert [it["now"] for it in world.asked[0].values()] == [0, 1, 2]


def test_before_a_call_only_what_is_new_is_shown() -> None:
    world = World()
    world.run(
        "for o in orders:\n    o.status = 'sent'\n    pay(o)\npay(orders[0])\ntable.clear()\nnote = 'n'"
    )
    assert [[*it] for it in world.asked] == [
        *(["orders[0].status"], ["orders[1].status"], ["orders[2].status"]),
        ["note", "table['old']", "table[(1, 2)]"],
    ]
    assert world.log == [(1, "sent"), (2, "sent"), (3, "sent"), (1, "sent")]


EDITED: dict[str, tuple[str, Any, str]] = {
    "orders[0].status": (
        "orders[0].status = 'paid'\npay(orders[0])\nassert orders[0].status == 'held'",
        "held",
        "orders[0].status",
    ),
    "table['old']": (
        "table['old'] = 6\npay(orders[0])\nassert table['old'] == 7",
        7,
        "table['old']",
    ),
    "table['k']": ("table['k'] = [1]", None, "table['k']"),
    "orders[2].tags[0]": (
        "orders[2].tags[0] = 'b'\npay(orders[0])\norders[2].tags.append(orders[2].tags[0])",
        "c",
        "orders[2].tags[1]",
    ),
    "note": ("note = 'a'\npay(orders[0])\nassert note == 'b'", "b", "note"),
}


@pytest.mark.parametrize("path", EDITED)
def test_an_edited_value_is_applied_and_seen_by_the_code(path: str) -> None:
    code, now, place = EDITED[path]
    decisions = iter([edit(path, now)])
    world = World(lambda changes: next(decisions, lambda _: njrt.Accept())(changes))
    world.run(code)
    found = eval(place, vars(world))
    assert found == now


@pytest.mark.parametrize(
    ("code", "path", "now"),
    [
        ("orders[0].status = 'paid'", "orders[0].status", ["x"]),
        ("orders[0].status = 'paid'", "orders[0].status", {"a": 1}),
        ("orders[0].status = 'paid'", "orders[1].status", "paid"),
        ("orders[0].tags += ['a']", "orders[0].tags[0:]", ["b"]),
        ("del table['old']", "table['old']", 3),
        ("seen.add(3)", "3 in seen", False),
    ],
)
def test_other_edits_end_the_block_and_change_nothing(code: str, path: str, now: Any) -> None:
    world, before = World(edit(path, now)), World().show()
    with pytest.raises(njrt.InterceptorError, match="an edit of changes"):
        world.run(code)
    assert world.show() == before


def test_an_edit_is_checked_like_the_code() -> None:
    world, before = World(edit("orders[0].id", "x")), World().show()
    world.run("orders[0].id = 4")
    assert world.show() == before
    assert "`Order.id: int`: expected int" in str(world.model.requests[-1])


@pytest.mark.parametrize(
    "code",
    [
        "orders[0].status = 'paid'\ntry:\n    pay(orders[0])\nexcept BaseException:\n    pass",
        "table.clear()\nraise ValueError('x')",
        "note = 'changed'",
    ],
)
def test_rejected_changes_end_the_code_with_words(code: str) -> None:
    rejected = World(lambda changes: njrt.Reject("ask ada first"))
    before = rejected.show()
    rejected.run(code)
    assert rejected.show() == before
    assert "PermissionError: the changes were rejected: ask ada first" in str(
        rejected.model.requests[-1]
    )
    assert not rejected.log


def test_calls_that_were_made_are_told_with_the_rejection() -> None:
    world = World(lambda it: njrt.Reject("no") if "orders[1].status" in it else njrt.Accept())
    world.run("for o in orders:\n    o.status = 'x'\n    pay(o)")
    assert [it.status for it in world.orders] == ["open"] * 3
    assert world.orders[0].tags == ["paid"]
    assert "already done: pay(Order)" in str(world.model.requests[-1])


class Account:
    """An own class whose attribute is set by a call of the program."""

    def __init__(self) -> None:
        self._level = 1

    @property
    def level(self) -> int:
        return self._level

    @level.setter
    def level(self, value: int) -> None:
        self._level = value


def test_an_attribute_that_is_set_by_a_call_cannot_be_approved() -> None:
    account, asked = Account(), list[Any]()
    with njrt.using(intercept=njrt.approve(changes=asked.append)):
        told = carry_out("account.level = 5", "contained", account=account)
    assert (account.level, asked) == (1, [])
    assert "`level` of a Account is set by a method" in told


@pytest.mark.parametrize("decision", [njrt.Abort(), njrt.Pause()], ids=["abort", "pause"])
def test_a_block_can_be_ended_before_a_change(decision: njrt.Decision) -> None:
    world, before = World(lambda changes: decision), World().show()
    error = njrt.PolicyError if decision == njrt.Abort() else njrt.Paused
    with pytest.raises(error):
        world.run("table.clear()\ntry:\n    pay(orders[0])\nexcept BaseException:\n    pass")
    assert world.show() == before


CODE = "orders[0].status = 'paid'\npay(orders[0])\nnote = 'a'"


def test_decisions_are_recorded_and_replayed(tmp_path: Path) -> None:
    record = {"record": f"new:{tmp_path / 'shop.jsonl'}"}
    replay = {"record": f"none:{tmp_path / 'shop.jsonl'}"}
    decisions: Iterator[Callable[[Changes], njrt.Decision]]
    decisions = iter([edit("orders[0].status", "held"), lambda changes: njrt.Pause()])
    with pytest.raises(njrt.Paused):
        World(lambda changes: next(decisions)(changes)).run(CODE, **record)
    continued = World(edit("note", "b"))
    continued.run(**record)
    assert [[*it] for it in continued.asked] == [["note"]]
    replayed = World()
    replayed.run(CODE, intercept=lambda pending: njrt.Accept(), **replay)
    for world in (continued, replayed):
        assert (world.orders[0].status, world.note) == ("held", "b")
    other = World()
    other.note = "other"
    with pytest.raises(njrt.RecordingMismatchError, match=r"njrt\.apply"):
        other.run(**replay)


def test_other_interceptors_are_not_asked_about_changes() -> None:
    kinds: list[str] = []

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        kinds.append(type(pending.effect).__name__)
        return njrt.Accept()

    world = World()
    with njrt.using(intercept=decide):
        world.run(CODE)
    World().run(CODE, intercept=decide)
    assert kinds == ["Run"] * 4
    assert len(world.asked) == 2


def test_a_call_is_decided_after_the_changes_before_it() -> None:
    order: list[str] = []

    @njrt.gated
    def ship(order: Order) -> None: ...

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            order.append(pending.effect.function.rpartition(".")[2])
        return njrt.Accept()

    with njrt.using(intercept=decide), njrt.using(intercept=njrt.approve(changes=decide)):
        carry_out("some.status = 'x'\nship(some)", "contained", some=Order(1), ship=ship)
    assert order == ["apply", "ship"]


def test_async_code_is_decided_about() -> None:
    async def fetch(order: Order) -> str:
        return order.status

    world = World()
    code = "order.status = 'x'\nnotes.append(await fetch(order))"
    named: Any = {"order": Order(1), "fetch": fetch, "notes": (notes := [])}
    with njrt.using(intercept=njrt.approve(changes=world.choose)):
        carry_out(code, "contained", is_async=True, **named)
    assert notes == ["x"]
    assert [[*it] for it in world.asked] == [["order.status"], ["notes[0:]"]]


def test_guarded_code_is_refused_before_the_model_is_asked() -> None:
    xs: list[int] = []
    model = njrt.Scripted([run("xs.append(1)", done=True)])
    with (
        njrt.using(model=model, intercept=njrt.approve(changes=True), policy="guarded"),
        pytest.raises(njrt.ConfigurationError, match="changes of contained code"),
    ):
        njrt.run("natural\nUse <xs>.", lambda: (xs,), at="a.njpy:1", effects="direct")
    assert not model.requests


@pytest.mark.parametrize("changes", ["yes", 1, []])
def test_changes_is_true_or_a_function(changes: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match="changes is True or a function"):
        njrt.approve(changes=changes)


@pytest.mark.parametrize(
    ("entry", "ends"),
    [
        ({"was": 5, "now": True}, [True]),
        ({"was": 5, "now": 1.0}, [1.0]),
        ({"was": 5}, None),
        ({"was": 5, "now": 1, "new": 7}, None),
    ],
)
def test_an_edit_differs_by_type_and_has_the_form_of_a_change(
    entry: dict[str, object], ends: list[object] | None
) -> None:
    counts: list[object] = [5]

    def edit(pending: njrt.PendingEffect) -> njrt.Decision:
        return njrt.Edit(njrt.Touch("njrt.apply", {"changes": {"counts[0]": entry}}))

    refused = pytest.raises(njrt.InterceptorError, match="same paths and keys")
    with njrt.using(intercept=njrt.approve(changes=edit)), nullcontext() if ends else refused:
        carry_out("counts[0] = 1", "contained", counts=counts)
    assert repr(counts) == repr(ends or [5])
