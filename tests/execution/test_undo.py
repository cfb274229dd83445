"""Snapshots restore each object in place, and touch nothing else."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from typing import Any

import pytest

from njrt.values.snapshot import take_snapshot


@dataclass
class Node:
    name: str
    children: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    value: Any


class Account:
    """Slots that are private, unset, and hidden by a property of a subclass."""

    __slots__ = ("__balance", "__limit", "log", "owner")

    def __init__(self) -> None:
        self.__balance, self.owner = 1, "a"

    def pay(self) -> None:
        self.__balance, self.__limit, self.log = 2, 3, ["paid"]

    def drop(self) -> None:
        del self.__balance

    def __repr__(self) -> str:
        names = ("_Account__balance", "_Account__limit", "owner", "log")
        return repr([getattr(self, name, None) for name in names])


class SubAccount(Account):
    __slots__ = ("__balance", "owner")

    def __init__(self) -> None:
        super().__init__()
        self.__balance = 5
        Account.owner.__set__(self, "hidden")  # type: ignore[attr-defined]

    def pay(self) -> None:
        super().pay()
        self.__balance = 6
        Account.owner.__set__(self, "changed")  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{super().__repr__()} {self.__balance} {Account.owner.__get__(self)}"  # type: ignore[attr-defined]


class Checked(list[int]):
    """A list that checks what it is given, and shows its items doubled."""

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("only through `add`")

    def __iter__(self) -> Any:
        return (2 * item for item in super().__iter__())


class Kept(dict[str, int]):
    """A table that nothing is taken from."""

    def clear(self) -> None:
        raise RuntimeError("never")

    update = items = __setitem__ = clear  # type: ignore[assignment]


class KeptInOrder(OrderedDict[str, int]):
    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, value + 1)


class KeptSet(set[int]):
    clear = update = None  # type: ignore[assignment]


class KeptQueue(deque[int]):
    clear = extend = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ([1, [2]], lambda it: it[1].append(3)),
        ({"a": {"b": 1}}, lambda it: it["a"].clear()),
        ({1, 2}, lambda it: it.add(3)),
        (deque([1, 2]), lambda it: it.popleft()),
        (bytearray(b"ab"), lambda it: it.extend(b"c")),
        (Node("a", [Node("b")]), lambda it: setattr(it.children[0], "name", "c")),
        (Node("a"), lambda it: setattr(it, "extra", 1)),
        (Slotted([1]), lambda it: it.value.append(2)),
        (Slotted(1), lambda it: setattr(it, "value", 2)),
        (defaultdict(list, {"a": [1]}), lambda it: it["b"].append(1)),
        (OrderedDict(a=1, b=2), lambda it: it.move_to_end("a")),
        (Counter("abc"), lambda it: it.update("a")),
        (Checked([1]), lambda it: it.append(2)),
        (Kept(a=1), lambda it: it.pop("a")),
        (KeptInOrder(a=1, b=2), lambda it: it.move_to_end("a")),
        (KeptSet([1]), lambda it: it.add(2)),
        (KeptQueue([1], 3), lambda it: it.append(2)),
        (Account(), lambda it: it.pay()),
        (Account(), lambda it: it.drop()),
        ([SubAccount()], lambda it: it[0].pay()),
        (([1], {"a"}), lambda it: (it[0].pop(), it[1].pop())),
    ],
)
def test_changes_are_undone(value: Any, change: Any) -> None:
    before = repr(value)
    snapshot = take_snapshot([value])
    change(value)
    assert repr(value) != before or hasattr(value, "extra")
    snapshot.restore()
    assert repr(value) == before
    assert not hasattr(value, "extra")


def test_identity_and_cycles_stay() -> None:
    inner: list[Any] = [1]
    outer: dict[str, Any] = {"inner": inner}
    inner.append(outer)
    snapshot = take_snapshot([outer])
    outer["inner"] = None
    inner.clear()
    snapshot.restore()
    assert outer["inner"] is inner
    assert inner[1] is outer


def test_too_much_is_not_kept() -> None:
    assert not take_snapshot([[[] for _ in range(100)]], most=50).is_complete
    assert take_snapshot([range(10**9), 10**9, "x" * 10**6], most=50).is_complete


def test_modules_classes_and_functions_are_left_alone() -> None:
    snapshot = take_snapshot([pytest, Node, take_snapshot, print])
    assert snapshot.steps == ()
