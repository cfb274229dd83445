"""What the model is shown of each kind of value, to the letter, and that no process shows it otherwise."""

from __future__ import annotations

import array
import asyncio
import collections
import dataclasses
import decimal
import enum
import fractions
import functools
import io
import math
import os
import pathlib
import re
import sqlite3
import threading
import types
import typing
import uuid
from datetime import date, datetime

import numpy
import pydantic
import pytest

from njrt.values.rendering.describe import describe_variable, render_value
from processes import run_python


@dataclasses.dataclass
class Item:
    """An article of the shop."""

    name: str
    price: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list)
    secret: str = dataclasses.field(default="s3cret", repr=False)

    def discount(self, percent: float, *, floor: float = 0.0) -> None:
        """Lower the price.

        Never below the floor.
        """


class Open(pydantic.BaseModel, extra="allow"):
    id: int


def make_row() -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    row: sqlite3.Row = connection.execute("select 1 as id, 'Oslo' as city").fetchone()
    connection.close()
    return row


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


class Graph:
    """A citation graph."""

    limit = 10

    def __init__(self, size: int) -> None:
        self.nodes = {f"n{i}": {f"n{i + 1}", "root"} for i in range(size)}
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many nodes there are."""
        raise AssertionError("a property must not be evaluated")

    def add(self, node: str, *others: str, to: Graph | None = None, **extra: int) -> None:
        """Add a node."""

    async def fetch(self): ...

    @staticmethod
    def make(size=3): ...

    @classmethod
    def read(cls, path: str) -> Graph: ...

    def __len__(self) -> int:
        raise AssertionError("__len__ must not be called")

    def _hidden(self) -> None: ...


class Slotted:
    __slots__ = ("first", "second", "unset")

    def __init__(self) -> None:
        self.first, self.second = 1, "two"


class Order(pydantic.BaseModel):
    """An order."""

    id: int = pydantic.Field(gt=0)
    lines: list[str] = []
    note: str | None = pydantic.Field(None, description="for the customer")
    key: pydantic.SecretStr = pydantic.SecretStr("hidden")


class Point(typing.NamedTuple):
    x: int
    y: int = 0


class Movie(typing.TypedDict, total=False):
    title: str
    year: int


class Spoken:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class UserId(int):
    pass


class Basket(list[int]):
    def total(self) -> int:
        return sum(self)


class OrderError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"order {code} failed")
        self.code = code


def search(query: str, /, limit: int = 10, *, fuzzy: bool = False) -> list[Item]:
    """Find items.

    Slowly.
    """
    return []


async def fetch(url, timeout=1.5): ...


def rows():
    yield 1


def itself() -> list[object]:
    knot: list[object] = [1]
    knot.append(knot)
    return knot


class Loop:
    def __init__(self) -> None:
        self.name = "a"
        self.next = self


cased = functools.partial(int, base=2)
SHOWN = [
    (None, "x: None"),
    (True, "x: bool = True"),
    (-3, "x: int = -3"),
    (1 << 99_999, "x: int = <int of 100,000 bits>"),
    (0.5, "x: float = 0.5"),
    (math.nan, "x: float = nan"),
    (2 + 1j, "x: complex = (2+1j)"),
    ("it's", 'x: str = "it\'s"'),
    ("Grüße, 世界 🙂", "x: str = 'Grüße, 世界 🙂'"),
    ("\x1b[31mred\x00\ud800\u202e\n", r"x: str = '\x1b[31mred\x00\ud800\u202e\n'"),
    (b"\x00a", r"x: bytes = b'\x00a'"),
    (bytearray(b"ab"), "x: bytearray = bytearray(b'ab')"),
    (UserId(7), "x: UserId = UserId(7)"),
    ([], "x: list, 0 items = []"),
    ([3, 4], "x: list[int], 2 items = [3, 4]"),
    ([1, None, "a"], "x: list[None | int | str], 3 items = [1, None, 'a']"),
    ((1, "a"), "x: tuple[int, str], 2 items = (1, 'a')"),
    ((1,), "x: tuple[int], 1 item = (1,)"),
    ((0,) * 6, "x: tuple[int, ...], 6 items = (0, 0, 0, 0, 0, 0)"),
    ({"b", "a"}, "x: set[str], 2 elements = {'a', 'b'}"),
    ({10, 9}, "x: set[int], 2 elements = {9, 10}"),
    (frozenset(), "x: frozenset, 0 elements = frozenset()"),
    ({"a": [1]}, "x: dict[str, list], 1 key = {'a': [1]}"),
    (set(range(1000)), "x: set, 1,000 elements = {...}"),
    (collections.deque([1, 2]), "x: deque[int], 2 items = deque([1, 2])"),
    (collections.OrderedDict(a=1), "x: OrderedDict, 1 key = OrderedDict({'a': 1})"),
    (collections.Counter("aab"), "x: Counter, 2 keys = Counter({'a': 2, 'b': 1})"),
    (collections.defaultdict(list, {1: [2]}), "x: defaultdict, 1 key = defaultdict({1: [2]})"),
    (collections.UserList([1]), "x: UserList = UserList(data=[1])"),
    ({"a": 1}.items(), "x: dict_items = dict_items([('a', 1)])"),
    (types.SimpleNamespace(a=1, b=[2]), "x: SimpleNamespace = SimpleNamespace(a=1, b=[2])"),
    (types.MappingProxyType({"a": 1}), "x: mappingproxy = mappingproxy({'a': 1})"),
    (types.MappingProxyType(collections.UserDict(a=1)), "x: mappingproxy = mappingproxy({...})"),
    (Open(id=1, city="Oslo"), "x: Open = Open(id=1, city='Oslo')"),
    (make_row(), "x: Row = Row(id=1, city='Oslo')"),
    (array.array("i", [1, 2]), "x: array = array('i', [1, 2])"),
    (range(10**9), "x: range = range(0, 1000000000)"),
    (itself(), "x: list[int | list], 2 items = [1, [...]]"),
    (Loop(), "x: Loop = Loop(name='a', next=Loop(...))"),
    (Colour.RED, "x: Colour = Colour.RED"),
    (Access.READ | Access.WRITE, "x: Access = Access.READ|WRITE"),
    (Colour, "x: class Colour(Enum)\n    Colour members: RED = 1, GREEN = 'g'"),
    (Slotted(), "x: Slotted = Slotted(first=1, second='two')"),
    (Point(1), "x: Point = Point(x=1, y=0)"),
    (Point, "x: class Point(tuple)\n    Point(x: int, y: int)"),
    (Movie, "x: class Movie(TypedDict)\n    keys: title: str (optional), year: int (optional)"),
    (Spoken("<at 0x7f> at 0x7f3a> {'b', 'a', 'c'}"), "x: Spoken = <at 0x7f>> {'a', 'b', 'c'}"),
    (Spoken("two\nlines"), r"x: Spoken = two\nlines"),
    (
        [Item("lamp", 20), Item("desk", 5)],
        "x: list[Item], 2 items = [Item(name='lamp', price=20, tags=[]), Item(name='desk', price=5, tags=[])]",
    ),
    (
        Item,
        "x: class Item\n"
        "    Item: An article of the shop.\n"
        "    Item(name: str, price: float = 0.0, tags: list[str] = <factory>, secret: str = <redacted>)\n"
        "    .discount(percent: float, *, floor: float = 0.0) -> None  # Lower the price.",
    ),
    (
        Graph(1),
        "x: Graph = Graph(nodes={'n0': {'n1', 'root'}}, _lock=<unlocked _thread.lock object>)",
    ),
    (
        Graph,
        "x: class Graph\n"
        "    Graph: A citation graph.\n"
        "    Graph(size: int)\n"
        "    .limit = 10\n"
        "    .size -> int  (property)  # How many nodes there are.\n"
        "    .add(node: str, *others: str, to: Graph | None = None, **extra: int) -> None  # Add a node.\n"
        "    async .fetch()\n"
        "    .make(size=3)\n"
        "    .read(path: str) -> Graph\n"
        "    supports len()",
    ),
    (Basket([1, 2]), "x: Basket, 2 items = Basket([1, 2])"),
    (Order(id=3), "x: Order = Order(id=3, lines=[], note=None, key=SecretStr('**********'))"),
    (
        Order,
        "x: class Order(BaseModel)\n"
        "    Order: An order.\n"
        "    Order(id: int (Gt(gt=0)), lines: list[str] = [], note: str | None = None ('for the customer'), "
        "key: SecretStr = SecretStr('**********'))",
    ),
    (
        search,
        "x: function search(query: str, /, limit: int = 10, *, fuzzy: bool = False) -> list[Item]\n    Find items.",
    ),
    (fetch, "x: async function fetch(url, timeout=1.5)"),
    (
        Graph(0).add,
        "x: method Graph.add(node: str, *others: str, to: Graph | None = None, **extra: int) -> None\n    Add a node.",
    ),
    (len, "x: built-in function len(obj, /)\n    Return the number of items in a container."),
    (cased, "x: partial = functools.partial(<class 'int'>, base=2)"),
    (math, "x: module math"),
    (list[int], "x: type list[int]"),
    (typing.Optional[Item], "x: type Item | None"),  # noqa: UP045
    (typing.Literal["a", 1], "x: type Literal['a', 1]"),
    (rows(), "x: generator = <generator rows>"),
    (iter([1]), "x: list_iterator = <list_iterator>"),
    (threading.Lock(), "x: lock = <unlocked _thread.lock object>"),
    (object(), "x: object = <object>"),
    (pathlib.PurePosixPath("/x"), "x: PurePosixPath = PurePosixPath('/x')"),
    (decimal.Decimal("1.50"), "x: Decimal = Decimal('1.50')"),
    (fractions.Fraction(1, 3), "x: Fraction = Fraction(1, 3)"),
    (datetime(2026, 3, 2, 9, 0), "x: datetime = datetime(2026, 3, 2, 9, 0)  # Monday"),
    (date(2026, 3, 1), "x: date = date(2026, 3, 1)  # Sunday"),
    (uuid.UUID(int=1), "x: UUID = UUID('00000000-0000-0000-0000-000000000001')"),
    (re.compile("a+"), "x: Pattern = re.compile('a+')"),
    (ValueError("no", 3), "x: ValueError = ValueError('no', 3)"),
    (OrderError(7), "x: OrderError = OrderError('order 7 failed', code=7)"),
    (
        numpy.arange(4).reshape(2, 2),
        "x: numpy.ndarray, shape (2, 2), dtype int64 = [[0, 1], [2, 3]]",
    ),
    (
        numpy.zeros((50, 60)),
        "x: numpy.ndarray, shape (50, 60), dtype float64 = "
        "[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ...], ...]",
    ),
    (numpy.float64(0.5), "x: float64 = float64(0.5)"),
    (io.StringIO("text"), "x: StringIO = <StringIO>"),
]


@pytest.mark.parametrize(
    ("value", "text"), SHOWN, ids=[text[:40].split("\n")[0] for _, text in SHOWN]
)
def test_a_value_is_described(value: object, text: str) -> None:
    assert describe_variable("x", value, 1000) == text


class Shop:
    @functools.cached_property
    def stock(self) -> dict[str, int]:
        """What is there."""
        raise AssertionError("a property must not be evaluated")

    @functools.cache  # noqa: B019
    def cost(self, article: str) -> float:
        """What an article costs."""
        raise AssertionError("a method must not be called")

    @staticmethod
    @functools.lru_cache(maxsize=3)
    def find(name: str = "") -> str:
        raise AssertionError("a method must not be called")


@functools.lru_cache
def price(article: str, currency: str = "EUR") -> float:
    """Look up a price."""
    raise AssertionError("a function must not be called")


def test_functions_behind_a_cache_are_shown() -> None:
    signature = "(article: str, currency: str = 'EUR') -> float"
    assert describe_variable("f", price) == f"f: function price{signature}\n    Look up a price."
    assert render_value([price, Shop().cost]) == "[<function price>, <method Shop.cost>]"
    assert describe_variable("s", Shop).splitlines()[1:] == [
        "    .stock -> dict[str, int]  (property)  # What is there.",
        "    .cost(article: str) -> float  # What an article costs.",
        "    .find(name: str = '') -> str",
    ]
    assert describe_variable("m", Shop().cost) == (
        "m: method Shop.cost(article: str) -> float\n    What an article costs."
    )
    wrapper = functools.cache(functools.partial(int, base=2))
    assert "_lru_cache_wrapper" in describe_variable("w", wrapper)


def test_an_open_file_is_named_and_not_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with path.open(encoding="utf-8") as file:
        assert "notes.txt' mode='r'" in describe_variable("file", file)
        assert file.read() == "hello"


def test_a_generator_is_not_consumed() -> None:
    numbers = (n for n in [1, 2])
    describe_variable("numbers", numbers)
    render_value([numbers, map(str, numbers)])
    assert list(numbers) == [1, 2]


def test_a_coroutine_is_not_awaited() -> None:
    coroutine = fetch("u")
    assert describe_variable("c", coroutine) == "c: coroutine = <coroutine fetch>"
    assert asyncio.run(coroutine) is None


def test_a_module_of_the_programs_own_shows_what_it_offers() -> None:
    shop = types.ModuleType("shop")
    exec(
        "def buy(n: int) -> str:\n    'Buy.'\nclass Cart:\n    'Holds.'\nimport os\n_x = 1",
        shop.__dict__,
    )
    assert describe_variable("shop", shop) == (
        "shop: module shop\n    .buy(n: int) -> str  # Buy.\n    .Cart: class  # Holds."
    )


def test_a_named_function_of_a_decorator_has_its_own_signature() -> None:
    def logged(function):  # type: ignore[no-untyped-def]
        @functools.wraps(function)
        def wrapper(*args: object, **kwargs: object) -> object:
            return function(*args, **kwargs)

        return wrapper

    assert describe_variable("s", logged(search)).startswith(
        "s: function search(query: str, /, limit"
    )


LONG = [
    ("a" * 50_000, 300),
    ([Item(f"item {n}", n) for n in range(1000)], 300),
    ({n: "v" * n for n in range(1000)}, 300),
    (Graph(1000), 300),
    ({f"key {n}" * 5 for n in range(100)}, 300),
    (b"\x00" * 5000, 200),
    ("\U0010ffff" * 500, 100),
    (numpy.zeros((100, 100, 100)), 120),
    (Spoken("x" * 10_000_000), 100),
    (OrderError, 60),
    ([[[[[[[[[1]]]]]]]]] * 50, 100),
]


@pytest.mark.parametrize(
    ("value", "budget"),
    LONG,
    ids=[type(value).__name__ + str(n) for n, (value, _) in enumerate(LONG)],
)
def test_what_does_not_fit_is_shortened_to_the_budget(value: object, budget: int) -> None:
    text = describe_variable("value", value, budget)
    assert budget // 5 < len(text) <= budget
    assert "..." in text
    assert len(render_value(value, budget)) <= budget


def test_a_long_text_shows_its_beginning_its_end_and_its_length() -> None:
    text = describe_variable("mail", "begin" + "-" * 5000 + "end", 400)
    assert text.startswith("mail: str = 'begin----")
    assert text.endswith("-end' (5,008 characters)")


def test_a_large_object_is_shown_attribute_by_attribute() -> None:
    lines = describe_variable("graph", Graph(1000), 1000).split("\n")
    assert lines[0] == "graph: Graph"
    assert lines[1].startswith("    .nodes: dict, 1,000 keys = {'n0': {'n1', 'root'}, ")


def test_show_writes_the_value_alone_if_it_fits() -> None:
    assert render_value(Item("lamp")) == "Item(name='lamp', price=0.0, tags=[])"
    assert render_value("text") == "'text'"
    many = render_value(list(range(1000)), 60)
    assert many == "list, 1,000 items = [0, 1, 2, 3, 4, 5, 6, 7, ...]"


PROGRAM = """
import enum, dataclasses, threading
from njrt.values.rendering.describe import describe_variable
class Tag(enum.Enum):
    A = "a"; B = "b"
@dataclasses.dataclass(eq=False)
class Node:
    name: str
    tags: frozenset
class Team:
    def __init__(self): self.members = {"ada", "grace", "alan", "edsger"}
    def __repr__(self): return f"Team({self.members})"
class Plain: pass
values = [{"x", "yy", "zzz"}, {Tag.A, Tag.B}, frozenset({(1, "a"), (2, "b")}), {Node("n", frozenset("abc")), Node("m", frozenset())},
    Team(), Plain(), {Plain(), Plain()}, object(), threading.Lock(), threading.RLock(), threading.current_thread(), lambda: 1, print, Team.__init__, {1: {"p", "q", "r"}}, Node, iter({1})]
print("\\n".join(describe_variable("v", value) for value in values))
"""


def test_every_process_shows_the_same_state_alike() -> None:
    settings = ({**os.environ, "PYTHONHASHSEED": seed} for seed in ("0", "1", "2", "3"))
    (text,) = {run_python("-c", PROGRAM, env=env, check=True).stdout for env in settings}
    assert "0x" not in text
    assert "Team({'ada', 'alan', 'edsger', 'grace'})" in text
