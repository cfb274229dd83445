"""What canaries are made of: copies, what code can reach, comparisons, and the sequential test."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import datetime
import enum
import functools
import json
import math
import random
import re
import sys
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from canary_simulation import simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from njrt.production.canary.block_state import AlarmRule, CanaryResult, CanaryState
from njrt.production.canary.comparison import BlockEnd, find_differences
from njrt.production.canary.confinement import find_outside_access
from njrt.production.canary.sequential_test import (
    EPOCH_RUNS,
    MAX_EPOCHS,
    DifferenceHistory,
    compute_evidence,
    log_e_value,
)
from njrt.scope.scope import Absent, Bound
from njrt.values.copying import MAX_COPIED_OBJECTS, NotCopyableError, copy_values
from njrt.values.equality import is_same_value

# --- copies

Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Item:
    name: str
    parts: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    parts: tuple[Any, ...]


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = [1]


class Failure(KeyError):
    def __init__(self, code: int) -> None:
        super().__init__("failed", code)
        self.code = [code]


class Hostile:
    """Nothing of it may run while it is copied."""

    def __init__(self) -> None:
        self.items = [1]

    def _fail(self, *_: object) -> Any:
        raise AssertionError("code of the program ran")

    __getattribute__ = __getattr__ = __eq__ = __deepcopy__ = __copy__ = _fail
    __hash__ = object.__hash__


class Reduced:
    def __reduce__(self) -> Any:
        return Reduced, ()


COPYABLE = [
    [1, "a", None, 2.5, b"x", True, ..., range(3)],
    {"a": [1], (1, 2): {3}},
    (1, [2], frozenset({3})),
    bytearray(b"abc"),
    deque([1, [2]], maxlen=3),
    OrderedDict(a=[1]),
    Counter("aab"),
    defaultdict(list, a=[1]),
    Point([1], 2),
    Item("a", [Item("b")]),
    Frozen(([1],)),
    Slotted(),
    SimpleNamespace(a=[1]),
    Failure(3),
    datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC),
    Color.RED,
    {Color.RED: Item},
]


@pytest.mark.parametrize("value", COPYABLE, ids=range(len(COPYABLE)))
def test_a_copy_is_equal_and_shares_nothing_that_can_change(value: Any) -> None:
    copied = copy_values({"value": value}).values["value"]
    assert is_same_value(copied, value)
    assert not list_mutable_ids(copied) & list_mutable_ids(value)


def list_mutable_ids(value: Any) -> set[int]:
    found: set[int] = set()
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(
            held, list | dict | set | deque | bytearray | Item | Slotted | SimpleNamespace
        ):
            found.add(id(held))
        if isinstance(held, dict):
            waiting += held.values()
        elif isinstance(held, list | tuple | set | frozenset | deque):
            waiting += held
        elif isinstance(held, Item | Frozen | SimpleNamespace | Failure):
            waiting += vars(held).values()
        elif isinstance(held, Slotted):
            waiting.append(held.a)
    return found


NOT_COPYABLE = [
    (threading.Lock(), "a lock"),
    ((n for n in ()), "a generator"),
    (Path("a"), "Path"),
    (Reduced(), "a Reduced"),
    ([].append, "builtin_function_or_method|list"),
    (Item("a").__repr__, "a method"),
    ([[] for _ in range(MAX_COPIED_OBJECTS + 1)], "more than 5,000 objects"),
    (memoryview(b"a"), "a memoryview"),
    (defaultdict(lambda: threading.Lock()), None),
]


@pytest.mark.parametrize(("value", "what"), NOT_COPYABLE, ids=range(len(NOT_COPYABLE)))
def test_what_cannot_be_copied_is_named(value: Any, what: str | None) -> None:
    if what is None:
        assert copy_values({"value": [value]}).values["value"][0] is not value
    elif what.startswith("builtin"):
        assert (
            copy_values({"value": value}).values["value"] is value
        )  # refused as a value that is held
    else:
        with pytest.raises(NotCopyableError, match=what):
            copy_values({"value": [value]})


def test_no_code_of_the_program_runs() -> None:
    value = Hostile()
    copied = copy_values({"value": value}).values["value"]
    assert object.__getattribute__(copied, "items") == [1]
    assert object.__getattribute__(copied, "items") is not object.__getattribute__(value, "items")


def test_sharing_and_cycles_are_kept() -> None:
    ring: list[Any] = [1]
    ring.append((ring, {"ring": ring}))
    copied = copy_values({"ring": ring, "same": ring}).values
    assert copied["ring"] is copied["same"] is copied["ring"][1][0] is copied["ring"][1][1]["ring"]
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotCopyableError, match=r"nested too deeply|objects"):
        copy_values({"deep": deep})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.builds(Item, st.text(max_size=2), st.lists(inner, max_size=2))
    ),
    max_leaves=12,
)


@settings(max_examples=20, deadline=None)
@given(VALUES, VALUES)
def test_equality_of_copies(one: Any, other: Any) -> None:
    copied = copy_values({"one": one, "other": other}).values
    assert is_same_value(copied["one"], one)
    assert is_same_value(one, other) == is_same_value(copied["one"], copied["other"])


EQUALITIES = [
    (0.1 + 0.2, 0.3, True),
    (1, 1.0, True),
    (1, True, False),
    (math.inf, 1.0, False),
    (math.inf, math.inf, True),
    (math.nan, math.nan, True),
    (10**400, 10**400 + 1, False),
    (10**400, 1.5, False),
    ([1], (1,), False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    (Item("a"), Item("a"), True),
    (SimpleNamespace(), SimpleNamespace(), True),
    (Failure(1), Failure(1), True),
    (Failure(1), Failure(2), False),
    (Hostile, Hostile, True),
    (object(), object(), False),
]


@pytest.mark.parametrize(("one", "other", "same"), EQUALITIES, ids=range(len(EQUALITIES)))
def test_equality(one: Any, other: Any, same: bool) -> None:
    assert is_same_value(one, other) is same


# --- what code can reach

PROGRAM = """
import abc, dataclasses, enum, functools, json, math, os, random, re, smtplib
from collections import namedtuple
from math import sqrt
LIMIT = 10
RATES = (1, 2)
TABLE = {"a": 1}
PATTERN = re.compile("a")
count = 0

def double(n): return 2 * n
def through(n): return double(n) + LIMIT + len(RATES) + sqrt(4) + math.pi
def recursive(n): return n and recursive(n - 1)
def counts():
    global count
    count += 1
def reads_table(): return TABLE["a"]
def writes_file(text): open("a", "w").write(text)
def mails(text): return smtplib.SMTP("x").sendmail(text)
def prints(text): print(text)
def rolls(): return random.random()
def indirect(n): return [mails(x) for x in n]
def inner(n):
    def add(m): return m + n
    return (lambda k: add(k))(n)
def default(n, into=[]): into.append(n); return into
def by_type(n): type(n).total = 1
def getter(n, name): return getattr(n, name)
def runs(text): return eval(text)
@functools.lru_cache
def cached(n): return n
def closure():
    hits = []
    def note(n):
        hits.append(n)
    return note
note = closure()
def wrapped(function):
    @functools.wraps(function)
    def call(*arguments): return function(*arguments)
    return call
@wrapped
def twice(n): return 2 * n
@wrapped
def mails_twice(n): mails(n)

class Basket:
    limit = 3
    def __init__(self): self.items, self.total = [], 0
    def add(self, item): self.items.append(Part(item)); self.total += 1
    def save(self): open("a", "w")
    def grow(self): Basket.limit = 4
    def grow_by_name(self):
        cls = Basket
        cls.limit = 4
    def compare(self, other): return isinstance(other, Basket) and self.total == other.total
    @property
    def first(self): return self.items[0]
    @property
    def saved(self): return self.save()
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def mail(): mails("x")
class Part:
    def __init__(self, name): self.name = name
class Shared:
    every = []
    def add(self): self.every.append(self)
class Repr:
    def __repr__(self): return rolls() and "x"
class Child(Basket):
    def add(self, item): super().add(item)
    def store(self): self.save()
class Meta(type): pass
class Odd(metaclass=Meta): pass
class Color(enum.Enum):
    RED = 1
    def mix(self): return Color.RED
@dataclasses.dataclass
class Line:
    name: str = "a"
    parts: list = dataclasses.field(default_factory=list)
@dataclasses.dataclass(frozen=True, order=True)
class Fixed:
    name: str = "a"
class Stop(Exception): pass
class Loud(Exception):
    def __init__(self, text): print(text)
Pair = namedtuple("Pair", "a b")
basket, line, child, shared, odd = Basket(), Line(), Child(), Shared(), Odd()
"""

REACHES: list[tuple[str, str | None]] = [
    ("total = double(3)", None),
    ("total = through(3) + recursive(2) + inner(2) + twice(3)", None),
    ("counts()", "changes the global variable `count`"),
    ("reads_table()", "`TABLE` is shared"),
    ("writes_file('a')", "`writes_file` uses `open`"),
    ("mails('a')", "module smtplib"),
    ("indirect(['a'])", "module smtplib"),
    ("mails_twice('a')", "module smtplib"),
    ("f = mails\nf('a')", "module smtplib"),
    ("[mails][0]('a')", "module smtplib"),
    ("prints('a')", "`prints` uses `print`"),
    ("print('a')", None),
    ("rolls()", "module random"),
    ("import random\nrandom.seed(1)", "module random"),
    ("import json, re, math\njson.dumps(1)", None),
    ("import os\nos.remove('a')", "module os"),
    ("from os import remove\nremove('a')", "module os"),
    ("open('a')", "open"),
    ("__import__('os')", "__import__"),
    ("default(1)", "can change|is shared"),
    ("by_type(basket)", "may change a class"),
    ("getter(basket, 'save')", "`getter` uses `getattr`"),
    ("getattr(basket, 'save')()", "getattr"),
    ("runs('1')", "eval"),
    ("cached(1)", "is shared"),
    ("note(1)", "`hits` is shared"),
    ("basket.add('x')", None),
    ("basket.items.append(1)\nbasket.total += 1", None),
    ("basket.save()", "`save` uses `open`"),
    ("f = basket.save\nf()", "`save` uses `open`"),
    ("basket.grow()", "may change the class `Basket`"),
    ("basket.grow_by_name()", "may change the class `Basket`"),
    ("basket.compare(basket)", None),
    ("basket.first", None),
    ("basket.saved", "`save` uses `open`"),
    ("basket.make()", None),
    ("basket.mail()", "module smtplib"),
    ("child.add('x')", None),
    ("child.store()", "`save` uses `open`"),
    ("Basket.limit = 3", "may change the class `Basket`"),
    ("b = Basket\nb.limit = 3", "may change the class `Basket`"),
    ("b = Basket()\nb.limit = 3", None),
    ("type(basket).limit = 3", "may change a class"),
    ("basket.__class__.limit = 3", "may change a class"),
    ("basket.__init__.__globals__['x'] = 3", "`__globals__`"),
    ("shared.add()", "`Shared.every` is shared"),
    ("odd", "metaclass"),
    ("total = [Line(), Fixed() < Fixed(), Pair(1, 2), Color.RED.mix()]", None),
    ("line.parts.append(Line('x'))", None),
    ("raise Stop('x')", None),
    ("raise Loud('x')", "`__init__` uses `print`"),
    ("if isinstance(basket, Basket): break\ncontinue", None),
    ("return total", None),
    ("total = await ask('x', bool)", None),
    ("class Own:\n    n = 1\nOwn.n = 2\ntotal = Own().n", None),
    ("def own(n):\n    return n + 1\ntotal = sum(own(x) for x in [1])", None),
    ("def own():\n    mails('x')", "module smtplib"),
    ("total = lambda: rolls()", "module random"),
    ("os.remove('a')", "module os|`os`"),
    ("json.dumps(basket.items)", None),
    ("PATTERN.match('a')", None),
    ("total = LIMIT + RATES[0]", None),
]


@functools.cache
def load_program() -> dict[str, Any]:
    module = types.ModuleType("shop_with_canaries")
    sys.modules[module.__name__] = module  # dataclasses look there
    exec(PROGRAM, module.__dict__)
    return module.__dict__


def reach(code: str, *classes: str) -> str | None:
    space = load_program()
    copies = copy_values(
        {name: space[name] for name in ("basket", "line", "child", "shared", "odd") if name in code}
    )

    def lookup(name: str) -> Bound | Absent:
        if name == "ask":
            return Absent.UNKNOWN
        value = copies.values.get(name, space.get(name, getattr(builtins, name, None)))
        return Absent.UNKNOWN if value is None else Bound(value)

    named = tuple(space[name] for name in classes)
    return find_outside_access(code, lookup, (*copies.classes, *named))


@pytest.mark.parametrize(("code", "reached"), REACHES, ids=[code for code, _ in REACHES])
def test_what_code_can_reach(code: str, reached: str | None) -> None:
    found = reach(code)
    if reached is None:
        assert found is None
    else:
        assert found is not None
        assert re.search(reached, found), found


def test_showing_an_object_must_reach_nothing() -> None:
    assert reach("", "Basket", "Line", "Color", "Pair") is None
    assert "module random" in (reach("", "Repr") or "")


def test_code_that_is_no_python_is_an_error() -> None:
    with pytest.raises(SyntaxError):
        reach("total = = 3")


# --- comparing

ENDS: list[tuple[BlockEnd, BlockEnd, list[str]]] = [
    (BlockEnd("completed"), BlockEnd("completed"), []),
    (BlockEnd("broke"), BlockEnd("completed"), ["it completed, the code broke"]),
    (BlockEnd("raised", KeyError), BlockEnd("raised", KeyError), []),
    (
        BlockEnd("raised", KeyError),
        BlockEnd("raised", ValueError),
        ["it raised ValueError, the code raised KeyError"],
    ),
    (BlockEnd("returned", 3), BlockEnd("returned", 4), ["it returned 4, the code 3"]),
    (
        BlockEnd("completed", None, {"a": [1], "b": 2}),
        BlockEnd("completed", None, {"a": [1, 2], "b": 2}),
        ["`a` is [1, 2], by code [1]"],
    ),
    (
        BlockEnd("completed", None, {"a": 1}),
        BlockEnd("completed", None, {"b": 1}),
        ["`a` is bound by code only", "`b` is bound by the live block only"],
    ),
    (BlockEnd("continued", None, {"a": 1}), BlockEnd("continued", None, {}), []),
]


@pytest.mark.parametrize(("code", "live", "differences"), ENDS)
def test_differences(code: BlockEnd, live: BlockEnd, differences: list[str]) -> None:
    assert list(find_differences(code, live, lambda name, value: repr(value))) == differences


# --- the sequential test


@pytest.mark.parametrize(
    ("runs", "differences", "tolerated"),
    [(0, 0, 0.1), (5, 5, 0.1), (50, 7, 0.1), (100, 3, 0.05), (300, 60, 0.1), (40, 40, 0.9)],
)
def test_the_e_value_is_the_integral(runs: int, differences: int, tolerated: float) -> None:
    steps, t = 4000, tolerated
    rates = (t + (1 - t) * (step + 0.5) / steps for step in range(steps))
    terms = ((q / t) ** differences * ((1 - q) / (1 - t)) ** (runs - differences) for q in rates)
    assert math.exp(log_e_value(runs, differences, tolerated)) == pytest.approx(
        sum(terms) / steps, rel=1e-3
    )


@pytest.mark.parametrize("tolerated", [0.02, 0.1, 0.5])
def test_the_evidence_does_not_grow_on_average_at_the_tolerated_rate(tolerated: float) -> None:
    """Given any past, the mean over the next run is the evidence now: the bound of Ville needs this."""
    generator = random.Random(7)
    history = DifferenceHistory()
    for _ in range(3 * EPOCH_RUNS + 3):
        now = compute_evidence(history, tolerated)
        mean = tolerated * compute_evidence(history.add(True), tolerated) + (
            1 - tolerated
        ) * compute_evidence(history.add(False), tolerated)
        assert mean == pytest.approx(now, rel=1e-9)
        history = history.add(generator.random() < tolerated)
    assert compute_evidence(DifferenceHistory(), tolerated) == pytest.approx(1)


def test_old_epochs_are_dropped() -> None:
    history = DifferenceHistory()
    for number in range(EPOCH_RUNS * (MAX_EPOCHS + 5)):
        history = history.add(number % 10 == 0)
    assert len(history.epochs) == MAX_EPOCHS
    assert history.epochs[-1].number == MAX_EPOCHS + 4
    assert compute_evidence(history, 0.2) < 1


def test_no_difference_is_tolerated_at_zero() -> None:
    history = DifferenceHistory()
    for _ in range(100):
        history = history.add(False)
    assert compute_evidence(history, 0.0) <= 1.0001
    assert compute_evidence(history.add(True), 0.0) > 1e6


def test_an_alarm_is_raised_once_and_stays() -> None:
    rule, state = AlarmRule(0.1, 0.01), CanaryState()
    for number in range(20):
        state = state.add(CanaryResult("a.njpy:1", (f"difference {number}",)), rule, 7.0)
    assert state.alarm is not None
    assert (state.alarm.runs, state.history.runs, state.alarm.at) == (3, 3, 7.0)
    assert state.alarm.example == "difference 2"


def test_skipped_runs_do_not_count() -> None:
    state = CanaryState()
    for _ in range(50):
        state = state.add(CanaryResult("a.njpy:1", problem="a file"), AlarmRule(), 0.0)
    assert (state.skipped, state.history.runs, state.problem, state.alarm) == (
        50,
        0,
        "a file",
        None,
    )


def test_false_alarms_are_as_rare_as_stated_and_changes_are_noticed() -> None:
    """A share of `python tests/drift/canary_simulation.py`, which runs 10,000 streams of each kind."""
    null = simulate(rate=0.1, tolerated=0.1, false_alarms=0.2, streams=150, length=120, seed=1)
    assert null.alarms <= 0.2 * 150 + 3 * math.sqrt(0.2 * 0.8 * 150)
    changed = simulate(
        rate=0.6, tolerated=0.1, false_alarms=0.01, streams=40, length=120, seed=2, change_at=40
    )
    assert changed.alarms == 40
    assert changed.median_delay is not None
    assert changed.median_delay < 25
    assert json.loads(json.dumps(dataclasses.asdict(changed)))["streams"] == 40
    assert collections.Counter(changed.delays).total() == 40
