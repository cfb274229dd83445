"""Random asserts against CPython: a breach that the check reports is an assert that fails, and the check changes nothing.

The expressions are generated from a seed, over values with every kind of trouble: iterators of the program, NaN, `__eq__` and
`__bool__` that raise, containers of iterators, properties. Breaches that the check leaves to the program are allowed.
"""

from __future__ import annotations

import datetime
import decimal
import math
import random
import re
import statistics
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import pytest

from njrt.execution.contracts import Contract

CASES = 6000


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __repr__(self) -> str:
        return f"Pair({self.a!r}, {self.b!r})"

    @property
    def total(self) -> int:
        return self.a + 1 if isinstance(self.a, int) else 0


class Bad:
    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("eq")

    def __hash__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        raise ValueError("bool")

    def __repr__(self) -> str:
        return "Bad()"


class Negative:
    def __len__(self) -> int:
        return -1

    def __repr__(self) -> str:
        return "Negative()"


class Items(list[Any]): ...


def make_values(seed: int) -> dict[str, Any]:
    choice = random.Random(seed).choice
    return {
        "n": choice([0, 1, -3, 10**30, 2.5, math.nan, math.inf, -0.0, True, None]),
        "m": choice([0, 1, 2, 7]),
        "s": choice(["", "abc", "a b", "\ud800", "\0x"]),
        "xs": choice([[], [1, 2, 3], [3, 1], ["a", "b"], [[1], [2]], [1, None], [math.nan]]),
        "d": choice([{}, {"a": 1}, {"a": [1]}, {1: 2, (1, 2): 3}, {"x": {"y": 1}}]),
        "some": choice([set(), {1, 2}, {"a"}]),
        "t": choice([(), (1,), (1, "a"), ((1, 2), 3)]),
        "pair": Pair(choice([1, None, "x"]), [1]),
        "bad": Bad(),
        "default": choice([defaultdict(int), defaultdict(list, {"a": [1]})]),
        "counter": Counter("aab"),
        "queue": deque([1, 2]),
        "iterator": iter([1, 2, 3]),
        "generator": (i for i in range(3)),
        "iterators": [iter([1]), iter([2])],
        "day": datetime.date(2026, 1, 2),
        "price": decimal.Decimal("1.50"),
        "items": Items([1, 2]),
        "f": lambda x=0: 1,
        "negative": Negative(),
        "pattern": re.compile("a+"),
        "ordered": OrderedDict(a=1, b=2),
    }


NAMES = sorted(make_values(0).keys() - {"iterators"})  # iterators inside objects are a limit
CONSTANTS = ["0", "1", "'a'", "2.5", "None", "True", "[]", "()", "{}", "[1, 2]", "'ab'"]
FUNCTIONS = """
    len sum min max sorted list tuple set any all bool str repr abs round type hash callable
    iter next reversed enumerate dict frozenset int float id math.isnan math.prod
    statistics.mean
"""
METHODS = """
    count({}) index({}) copy() get({}) keys() values() items() upper() split() append({}) pop()
    issubset({}) union({}) most_common() total a b isoformat() startswith({}) join({})
    format({}) match({}) __class__ __len__() __next__ sort() clear() setdefault({}) update({})
    add({}) popleft()
"""
CLASSES = ["list", "int", "zip", "map", "(list, tuple)", "dict", "enumerate", "filter", "reversed"]
BRACKETS = ["[{}]", "({})", "{{{}}}", "list({})", "all({})", "any({})", "sum({})"]


def write_expression(choose: random.Random, depth: int, names: list[str]) -> str:
    def part(further: str | None = None, less: int = 1) -> str:
        return write_expression(choose, depth - less, [*names, further] if further else names)

    if depth <= 0 or choose.random() < 0.12:
        return choose.choice([*names, *names, *CONSTANTS])
    variable, pick = f"v{depth}", choose.choice
    match choose.randrange(24):
        case 0:
            return f"({part()} {pick(['+', '-', '*', '/', '//', '%', '&', '|'])} {part()})"
        case 1 | 2:
            return f"({part()} {pick(['==', '!=', '<', '<=', 'in', 'not in', 'is'])} {part()})"
        case 3:
            return f"({part()} {pick(['and', 'or'])} {part()})"
        case 4:
            return f"(not {part()})"
        case 5:
            return f"({part()} < {part()} <= {part()})"
        case 6 | 7:
            return f"{pick(FUNCTIONS.split())}({part()})"
        case 8:
            return f"isinstance({part()}, {pick(CLASSES)})"
        case 9:
            function = pick(["str", "len", "bool", "None", "lambda q: q", "abs", "int"])
            return f"{pick(['map', 'filter'])}({function}, {part()})"
        case 10:
            return f"zip({part()}, {part()})"
        case 11 | 12:
            condition = f" if {part(variable, 2)}" if choose.random() < 0.3 else ""
            return pick(BRACKETS).format(f"{part(variable)} for {variable} in {part()}{condition}")
        case 13:
            return f"{{{variable}: {part(variable)} for {variable} in {part()}}}"
        case 14:
            return f"{part()}[{pick(['0', '-1', '1:', '::2', '9', repr('a'), part()])}]"
        case 15 | 16:
            return f"{part()}.{pick(METHODS.split())}".replace("{}", part())
        case 17:
            return f"(lambda w: {part('w')})({part()})"
        case 18:
            return f"({part()} if {part()} else {part()})"
        case 19:
            return f"f'{{{part()}}}'".replace("\\", "")
        case 20:
            return f"[*{part()}, {part()}]"
        case 21:
            return f"({variable} := {part()})"
        case 22:
            return f"sorted({part()}, key=lambda w: {part('w', 2)})"
        case _:
            return f"{pick(['getattr', 'hasattr'])}({part()}, {pick(['a', 'total', '__next__', 'pop'])!r})"


MODULES = {"math": math, "statistics": statistics}


def describe_values(values: dict[str, Any]) -> dict[str, str]:
    """Return texts that differ if a value was changed or an iterator was moved."""
    positions = [str(each.__reduce__()) for each in (values["iterator"], *values["iterators"])]
    frame = values["generator"].gi_frame
    shown = {name: repr(value) for name, value in values.items() if "tor" not in name}
    return shown | {"generator": str(frame and frame.f_lasti), "iterators": str(positions)}


def find_real_failure(text: str, values: dict[str, Any]) -> BaseException | None:
    names: dict[str, Any] = dict(MODULES)
    exec(f"def check({', '.join(values)}):\n    assert {text}", names)
    try:
        names["check"](**values)
    except BaseException as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore")
def test_a_breach_is_an_assert_that_fails() -> None:
    found: Counter[str] = Counter()
    for seed in range(CASES):
        choose = random.Random(seed)
        text = write_expression(choose, choose.randrange(1, 5), NAMES)
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(f"assert {text}", "case", "exec")
        except (SyntaxError, RecursionError):
            continue
        values, names = make_values(seed), dict(MODULES)
        exec(f"def make({', '.join(values)}):\n    return lambda: ({', '.join(values)})", names)
        make: Any = names["make"]
        before = describe_values(values)
        breach = Contract([text], (make(**values),)).find_breach(lambda _, value: repr(value))
        assert describe_values(values) == before, text
        error = find_real_failure(text, make_values(seed))
        assert error is not None or breach is None, f"{text}: {breach}"
        found["breach" if breach else "left" if error else "holds"] += 1
    assert min(found["breach"], found["left"], found["holds"]) > CASES / 10, found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("all(x < 5 for x in range(n))", "must be true"),
        ("all(x < 5 for x in map(abs, xs))", "must be true"),
        ("not any(map(bool, xs))", "must be true"),
        ("all(map(int, ['1', 'a']))", "it raises ValueError"),
        ("isinstance(zip(xs), map)", "must be true"),
        ("any(x > 5 for x in map(abs, xs))", None),
        ("any(map(int, ['1', 'a']))", None),
        ("isinstance(zip(xs), zip)", None),
        ("zip(xs).__next__", None),
        ("hasattr(map(abs, xs), '__next__')", None),
    ],
)
def test_iterators_that_an_assert_makes_are_lazy(text: str, shown: str | None) -> None:
    n = 10**15
    xs = range(n)
    breach = Contract([text], (lambda: (n, xs),)).find_breach(lambda _, value: repr(value)[:200])
    if shown is None:
        assert breach is None
    else:
        assert shown in str(breach)
