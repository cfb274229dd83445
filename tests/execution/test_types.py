"""Types of outputs: which values fit, what is said of those that do not, and how declarations are evaluated."""

# Old forms of types are checked, too, and quoted names stand for classes of other modules.
# ruff: noqa: E731, F821, SIM115, UP006, UP007, UP045

from __future__ import annotations

import abc
import array
import collections
import collections.abc as abcs
import contextlib
import dataclasses
import datetime
import decimal
import enum
import io
import itertools
import os
import pathlib
import re
import sys
import tempfile
import types
import typing
from typing import Annotated, Any, Literal, NamedTuple, Optional, Protocol, TypedDict, Union

import annotated_types
import numpy
import pydantic
import pytest
import typing_extensions
from programs import Program, ended_by

import njrt
from njrt.errors import OutputTypeError, PolicyError
from njrt.execution.scope.declared_types import resolve_types
from njrt.execution.scope.typecheck import find_type_mismatch
from njrt.testing import Scripted, run


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Movie(TypedDict):
    title: str
    year: typing.NotRequired[int]


class Caption(typing_extensions.TypedDict):
    text: str
    size: typing_extensions.NotRequired[int]


class Branch(TypedDict):
    name: str
    children: list[Branch]


class Measurable(Protocol):
    def size(self) -> int: ...


@typing.runtime_checkable
class Named(Protocol):
    name: str


@dataclasses.dataclass
class Order:
    items: list[str]


class Pair(NamedTuple):
    a: int


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Thing:
    name: str


T = typing.TypeVar("T")
B = typing.TypeVar("B", bound=Thing)
S = typing.TypeVar("S", int, str)


class Box(typing.Generic[T]):
    pass


class Model(pydantic.BaseModel):
    x: int = 0


class Row(abcs.Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        return {"a": 1}[key]

    def __iter__(self) -> typing.Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Handle:
    """A class that has no instances, like EmailStr."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler(Annotated[str, pydantic.Field(min_length=2)])


Shape.register(Order)
Age = typing.NewType("Age", int)
Json = Union[dict[str, "Json"], list["Json"], str, int, float, bool, None]
Tree = tuple[int, list["Tree"]]
Alias = typing_extensions.TypeAliasType("Alias", list[int])
Positive = Annotated[int, annotated_types.Gt(0)]
Floats = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

FITS = [
    (1, int), (1, float), (1.5, float), (1, complex), (True, bool), ("a", str), (None, None), (None, type(None)),
    (object(), object), ([1], Any), (Color.RED, Color), (Level.LOW, int), (Order([]), Order), (Order([]), Shape), (Pair(1), Pair),
    (decimal.Decimal(1), decimal.Decimal), ([1, 2], list[int]), ([], list[int]), ({"a": [1]}, dict[str, list[int]]),
    ((1, "a"), tuple[int, str]), ((1, 2, 3), tuple[int, ...]), ((), tuple[()]), (Pair(1), tuple[int]), ({1}, set[int]), (1, int | str),
    ((1, "a", "b"), tuple[int, *tuple[str, ...]]), (None, Annotated[int | None, pydantic.Field(gt=0)]), ([None, 1], list[Annotated[Optional[int], pydantic.Field(gt=0)]]),
    ({"text": "a"}, Caption), ({"text": "a", "size": 1}, Caption),
    ([1], typing.List[int]), ((1,), typing.Tuple),
    (None, int | None), (None, Optional[int]), ("a", Union[int, str]), ("a", Literal["a", "b"]), (5, Annotated[int, "note"]),
    (Color.RED, Literal[Color.RED]), (True, int | bool), (datetime.datetime.min, datetime.date),
    ({"title": "x"}, Movie), ({"title": "x", "year": 1}, Movie), ({"name": "a", "children": [{"name": "b", "children": []}]}, Branch),
    ([Order([])], list[Order]), (len, abcs.Callable), (len, abcs.Callable[[int], int]), (len, typing.Callable[..., Any]),
    (lambda a, b=1, *c, d=2: a, abcs.Callable[[int], int]), (lambda *a: a, typing.Callable[[int, int], Any]), (Order, abcs.Callable[[list[str]], Order]),
    (iter, abcs.Callable[[int], Any]),
    (Order, type[Order]), (bool, type[int]), (bool, type[int | str]), (bool, type), (bool, type[Any]),
    (object(), Measurable), (Thing(), Thing), (3, Age), ([Thing()], list[Thing]), ([1.0, 2], list[float]),
    (Box(), Box[int]), (Model(), Model), ([Model()], list[Model]), (numpy.float64(1), float), (3, T), (Thing(), B), ("a", S),
    # abstract types
    ((x for x in ()), abcs.Iterator[int]), ((x for x in ()), abcs.Generator[int, None, None]), (iter([]), abcs.Iterable[int]),
    (range(3), abcs.Sequence[int]), (range(3), abcs.Iterable[int]), (range(3), abcs.Collection[int]), ((1, 2), abcs.Sequence[int]),
    (collections.deque([1]), abcs.Sequence[int]), (collections.deque([1]), abcs.MutableSequence[int]), (b"ab", abcs.Sequence[int]),
    (collections.UserList([1]), abcs.Sequence[int]), (collections.UserList([1]), abcs.MutableSequence[int]), (array.array("i", [1]), abcs.Sequence[int]),
    (memoryview(b"a"), abcs.Sequence[int]), ("ab", abcs.Iterable[str]), ("ab", abcs.Container[str]), ("ab", abcs.Hashable),
    ({1: "a"}.keys(), abcs.Set[int]), ({1: "a"}.keys(), abcs.KeysView[int]), ({1: "a"}.keys(), abcs.Collection[int]), ({1: "a"}.values(), abcs.Iterable[str]),
    ({1: "a"}.values(), abcs.ValuesView[str]), ({1: "a"}.items(), abcs.ItemsView[int, str]), ({1: "a"}.items(), abcs.Set[tuple[int, str]]),
    (frozenset({1}), abcs.Set[int]), ({1}, abcs.MutableSet[int]),
    (types.MappingProxyType({"a": 1}), abcs.Mapping[str, int]), (types.MappingProxyType({"a": 1}), abcs.Mapping), (os.environ, abcs.Mapping[str, str]),
    (collections.ChainMap({"a": 1}), abcs.Mapping[str, int]), (collections.UserDict(a=1), abcs.MutableMapping[str, int]), (Row(), abcs.Mapping[str, int]),
    (collections.Counter("a"), abcs.Mapping[str, int]), (collections.Counter("a"), collections.Counter[str]), (collections.Counter("a"), dict[str, int]),
    (collections.OrderedDict(a=1), collections.OrderedDict[str, int]), (collections.OrderedDict(a=1), dict[str, int]),
    (collections.defaultdict(list, a=[1]), collections.defaultdict[str, list[int]]), (collections.ChainMap({"a": 1}), collections.ChainMap[str, int]),
    (collections.deque([1]), collections.deque[int]), (reversed([1]), abcs.Iterator[int]), (itertools.count(), abcs.Iterator[int]),
    (io.StringIO(), typing.TextIO), (io.StringIO(), typing.IO[str]), (io.BytesIO(), typing.BinaryIO), (io.BytesIO(), typing.IO[bytes]), (io.BytesIO(), typing.IO),
    (sys.stdout, typing.TextIO), (tempfile.SpooledTemporaryFile(), typing.IO[bytes]), (pathlib.Path(), os.PathLike[str]), (re.compile("a"), re.Pattern[str]),
    (contextlib.nullcontext(), contextlib.AbstractContextManager[None]), (1, typing.SupportsInt), (1.5, typing.SupportsAbs[float]), (b"a", abcs.Buffer if sys.version_info >= (3, 12) else bytes),
    ([], abcs.Sized), ([], abcs.Reversible[int]), ("a", typing.LiteralString), (True, typing.TypeGuard[int]),
    # names inside their own definition
    ({"a": [1, None, {"b": "c"}]}, Json), ((1, [(2, [])]), Tree), ([1], Alias),
    ("ab", Handle), (pydantic.HttpUrl("http://a.b"), pydantic.HttpUrl), (pydantic.SecretStr("a"), pydantic.SecretStr),
    (3, Positive), ([3], list[Positive]), (3, Annotated[int, []]), (numpy.zeros(2), Floats),
]  # fmt: skip

MISFITS = [
    ("1", int, "expected int, got str"),
    (True, int, "expected int, got bool"),
    (1.0, int, "expected int, got float"),
    (True, float, "expected float, got bool"),
    (None, str, "expected str, got None"),
    (1, None, "expected None, got int"),
    ({"items": []}, Order, "expected Order, got dict"),
    ([1, "a"], list[int], "expected list[int]; at 1: expected int, got str"),
    ([True], list[int], "expected list[int]; at 0: expected int, got bool"),
    (["a"] * 9, list[int], "expected list[int]; at 0: expected int, got str; at 1: expected int, got str; at 2: expected int, got str; and more"),
    ((1,), list[int], "expected list[int], got tuple"),
    ((1,), tuple[int, int], "expected tuple[int, int]; expected 2 items, got 1"),
    ((1, "a"), tuple[int, int], "expected tuple[int, int]; at 1: expected int, got str"),
    ((1,), tuple[()], None),
    ({"a": {"b": "c"}}, dict[str, dict[str, int]], "expected dict[str, dict[str, int]]; at a.b: expected int, got str"),
    (object(), Json, None),
    ({1: 1}, Json, None),
    ((1, 2), Tree, None),
    ({1: 1}, dict[str, int], "expected dict[str, int]; at key 1: expected str, got int"),
    ("c", Literal["a", "b"], "expected Literal['a', 'b'], got str"),
    (True, Literal[1], "expected Literal[1], got bool"),
    ({"title": 1}, Movie, "expected Movie; at title: expected str, got int"),
    ({}, Movie, "expected Movie; at title: this key is missing"),
    ({"title": "a", "year": "b"}, Movie, "expected Movie; at year: expected int, got str"),
    ({"name": "a", "children": [{"name": 1, "children": []}]}, Branch, "expected Branch; at children.0.name: expected str, got int"),
    (Thing(), Named, "expected Named, got Thing"),
    (3, abcs.Callable[[int], int], None),
    (lambda a, b: a, typing.Callable[[int], int], "expected Callable[[int], int]; it does not take 1 argument"),
    (lambda *, a: a, abcs.Callable[[], int], "expected Callable[[], int]; it does not take 0 arguments"),
    ([len, input, lambda: 1], list[abcs.Callable[[int], int]], "expected list[Callable[[int], int]]; at 2: it does not take 1 argument"),
    (Pair, abcs.Callable[[int, int], Pair], "expected Callable[[int, int], Pair]; it does not take 2 arguments"),
    ([{}], list[Order], "expected list[Order]; at 0: expected Order, got dict"),
    ({"x": 1}, Model, "expected Model, got dict"),
    ([{"x": 1}], list[Model], "expected list[Model]; at 0: expected Model, got dict"),
    (int, type[Order], None),
    (3, type[int], None),
    (str, type[int | bytes], None),
    ("x", int | None, "expected int | None, got str"),
    (["x"], list[int] | None, "expected list[int] | None; at 0: expected int, got str"),
    (Thing(), S, None),
    (3, B, None),
    ("ab", abcs.Sequence[str], None),
    (range(3), abcs.Sequence[str], None),
    (range(3), list[int], None),
    (range(3), abcs.MutableSequence[int], None),
    ({1: "a"}.keys(), abcs.Set[str], None),
    ({1: "a"}.items(), abcs.ItemsView[int, int], None),
    (types.MappingProxyType({"a": 1}), abcs.Mapping[str, str], None),
    (types.MappingProxyType({"a": 1}), abcs.MutableMapping[str, int], None),
    (types.MappingProxyType({"a": 1}), dict[str, int], None),
    (collections.Counter("a"), collections.Counter[int], None),
    (Row(), abcs.Mapping[str, str], None),
    ([1], abcs.Iterator[int], None),
    (["a"], Alias, None),
    ([0.0], Floats, None),
    ("a", Handle, "expected Handle, got str"),
    ("http://a.b", pydantic.HttpUrl, "expected HttpUrl, got str"),
    (["a"], list[pydantic.SecretStr], "expected list[SecretStr]; at 0: expected SecretStr, got str"),
    (-3, Positive, "expected int; Input should be greater than 0"),
    ([-3], list[Positive], "expected list[int]; at 0: Input should be greater than 0"),
    ("a", Positive, "expected int, got str"),
    (-3, Annotated[int | None, pydantic.Field(gt=0)], None),
    ({"text": 1}, Caption, "expected Caption; at text: expected str, got int"),
    ({"size": 1}, Caption, "expected Caption; at text: this key is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "declared"), FITS)
def test_values_that_fit(value: object, declared: object) -> None:
    assert find_type_mismatch(value, declared, globals()) is None


@pytest.mark.parametrize(("value", "declared", "message"), MISFITS)
def test_values_that_do_not_fit(value: object, declared: object, message: str | None) -> None:
    found = find_type_mismatch(value, declared, globals())
    assert found is not None
    assert message is None or found == message


ABSTRACT = [getattr(abcs, name) for name in abcs.__all__]
VALUES = [value for value, _ in FITS] + [value for value, _, _ in MISFITS]


@pytest.mark.parametrize("declared", ABSTRACT, ids=lambda cls: cls.__name__)
def test_bare_abstract_types_are_those_of_isinstance(declared: Any) -> None:
    for value in VALUES:
        assert (find_type_mismatch(value, declared) is None) == isinstance(value, declared)


@pytest.mark.parametrize("declared", ABSTRACT, ids=lambda cls: cls.__name__)
def test_any_as_argument_admits_what_the_bare_type_does(declared: Any) -> None:
    for count in (1, 2, 3):
        try:
            subscripted = declared[(Any,) * count]
        except TypeError:
            continue
        for value in VALUES:
            fits = find_type_mismatch(value, subscripted) is None
            if declared not in (abcs.ItemsView, abcs.Mapping, abcs.MutableMapping):
                assert fits == isinstance(value, declared) or count > 1
            assert not fits or isinstance(value, declared)


def test_checking_changes_and_consumes_nothing() -> None:
    value, source = [1, 2], iter([1, 2])
    assert find_type_mismatch(value, list[float]) is None
    assert find_type_mismatch(source, abcs.Iterator[int]) is None
    assert [type(item) for item in value] == [int, int]
    assert list(source) == [1, 2]


def test_values_that_contain_themselves_are_checked() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert find_type_mismatch(loop, Json, globals()) is None
    branch: Any = {"name": "a", "children": []}
    branch["children"].append(branch)
    assert find_type_mismatch(branch, Branch) is None
    deep: Any = 1
    for _ in range(20_000):
        deep = [deep]
    assert find_type_mismatch(deep, Json, globals()) is None


def test_a_failing_check_of_the_program_is_reported() -> None:
    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            raise ValueError

    assert find_type_mismatch(1, Meta("M", (), {})) == "expected M; checking it failed: ValueError"


# ── declarations ─────────────────────────────────────────────────────────────────────────────────

QUOTED = [
    Optional["Foo"], Union["Foo", int], list["Foo"], typing.List["Foo"], dict[str, Optional["Foo"]], typing.Dict[str, "Foo"],
    tuple["Foo", ...], typing.Tuple["Foo", int], type["Foo"], typing.Type["Foo"], Annotated["Foo", 1], typing.Sequence["Foo"],
    abcs.Callable[["Foo"], Optional["Foo"]], typing.Callable[["Foo"], "Foo"], "Foo", "Optional[Foo]", 'Optional["Foo"]', typing.Required["Foo"],
]  # fmt: skip


@pytest.mark.parametrize("declared", QUOTED, ids=str)
def test_a_quoted_class_is_that_of_its_own_module(declared: Any) -> None:
    """The objects in `typing` are the same for all modules that use the same text."""
    modules = [{"Foo": type("Foo", (), {}), "Optional": Optional} for _ in range(3)]
    typing.get_type_hints(type("X", (), {"__annotations__": {"a": declared}}), modules[2])
    for module in (*modules, *modules):
        written = eval(f"lambda: {{'it': {declared!r}}}") if isinstance(declared, str) else None
        resolved = resolve_types(written or (lambda: {"it": declared}), module)["it"]
        classes = set(walk_arguments(resolved))
        assert module["Foo"] in classes
        assert not classes & {other["Foo"] for other in modules if other is not module}


def walk_arguments(declared: Any) -> typing.Iterator[Any]:
    if isinstance(declared, list):
        parts: Any = declared
    else:
        parts = typing.get_args(declared)
        yield declared if isinstance(declared, type) else None
    for part in parts:
        yield from walk_arguments(part)


def test_a_name_that_is_defined_later_leaves_the_other_types() -> None:
    program = Program('''
        class Shop:
            """natural
            Choose a <:name: str>, a <:first: Item>, <:all: list["Item"]> and an <:owner: Owner>.
            """
            class Item:
                pass
            """natural
            Choose an <Item>: <:second: Item>.
            """
        class Owner:
            pass
    ''')
    wrong, right = "name, first, all, owner = 3, 1, [], 2", "name = 'a'"
    names = program.load(says=ended_by(wrong, right, "second = 3", "second = Item()"))
    assert "`name`: expected str, got int" in program.told()[1]
    assert "`second`: expected Shop.Item, got int" in program.told()[3]
    assert type(names["Shop"].second) is names["Shop"].Item


def test_local_classes_that_are_not_bound_yet() -> None:
    def declare() -> Any:
        types_of = lambda: {"a": list[Later], "b": int, "c": Missing, "d": Later | None}  # type: ignore[name-defined]
        found = resolve_types(types_of, globals())

        class Later:
            pass

        return found

    assert declare() == {"b": int}


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("date: date", "d.date(2024, 1, 1)"),
        ("datetime: datetime.date", "d.date(2024, 1, 1)"),
        ("uuid: uuid.UUID | None", "None"),
        ("decimal: list[decimal.Decimal]", "[]"),
        ("list: list[int]", "[1]"),
        ("dict: dict[str, int]", "{'a': 1}"),
        ("set: set[str]", "{'a'}"),
        ("type: type[int]", "bool"),
        ("int: int | None", "1"),
        ("Held: dict[str, Held]", "{}"),
        ("Local: list[Local]", "[]"),
    ],
)
def test_an_output_with_the_name_of_its_type_is_checked(declared: str, value: str) -> None:
    name = declared.partition(":")[0]
    local = {"Local": "class Local: pass", "Held": "Held = None"}.get(name, "pass")
    program = Program(f'''
        import datetime, decimal, uuid
        from datetime import date
        class Held:
            pass
        def f(numbers):
            {local}
            for number in numbers:
                """natural
                Put a value for <number> into <:{declared}>, and into <:count: int>.
                """
            return {name}
    ''')
    wrong, right = (f"import datetime as d\n{name} = {it}\ncount = 1" for it in ("'a'", value))
    rounds = [1] if name == "Local" else [1, 2]
    program.call("f", rounds, says=ended_by(wrong, right) * len(rounds))
    assert all(f"`{name}`: expected" in text for text in program.told()[1::2])


def test_a_type_with_a_missing_part_leaves_the_other_types() -> None:
    declare = lambda: {
        "a": Missing[int],  # type: ignore[name-defined]
        "b": missing.Type | None,  # type: ignore[name-defined]
        "c": Annotated[Optional[Missing[int]], 1],  # type: ignore[name-defined]
        "d": list[Missing[int]],  # type: ignore[name-defined]
        "e": list[int],
    }
    assert resolve_types(declare, globals()) == {"e": list[int]}


# ── types in variables ───────────────────────────────────────────────────────────────────────────

CALLED: list[int] = []
GLOBAL_TEXT = "CALLED.append(1)"
Text: typing.TypeAlias = "list[int]"
NOTE = "in euros"


def bind(kind: Any, policy: Any) -> Any:
    """Run a block with the output `<:x: kind>`, whose model answers 3."""
    x = None
    with njrt.using(model=Scripted([run("x = 3", done=True)])):
        njrt.run(
            "natural\nPut 3 into <:x: kind>.",
            lambda: (x,),
            writes="x",
            types=lambda: {"x": kind},
            at="case.njpy:1",
            policy=policy,
        )
    return x


@pytest.mark.parametrize("policy", ["guarded", "auto", "contained"])
@pytest.mark.parametrize("text", ["int", "CALLED.append(1)", "no_such_name", "Callable", ""])
def test_text_in_a_variable_is_refused(policy: Any, text: str) -> None:
    with pytest.raises(OutputTypeError, match=r"case.njpy:1: .*`kind`, a variable that holds text"):
        bind(text, policy)
    assert not CALLED


@pytest.mark.parametrize("policy", ["guarded", "auto", "contained"])
def test_a_type_in_a_variable_is_that_type(policy: Any) -> None:
    assert bind(int, policy) == 3
    assert bind(typing.Optional[int], policy) == 3


@pytest.mark.parametrize("policy", ["auto", "contained"])
@pytest.mark.parametrize(
    "kind", [abcs.Callable, abcs.Callable[[int], int], abcs.Iterator[int], type]
)
def test_no_value_decides_where_code_runs(policy: Any, kind: Any) -> None:
    with pytest.raises(PolicyError, match="`kind`"):
        bind(kind, policy)


def declare_in_class() -> Any:
    class Body:
        kind = "int"
        declare = lambda kind=kind: {"x": kind}

    return Body.declare


def declare_local(kind: Any) -> Any:
    return lambda: {"x": list[kind]}


REFUSED = {
    "in the module": lambda: {"x": GLOBAL_TEXT},
    "in another type": declare_local("int"),
    "in a union": lambda: {"x": typing.Optional[GLOBAL_TEXT]},
    "in a class": declare_in_class(),
}


@pytest.mark.parametrize("declare", REFUSED.values(), ids=REFUSED)
def test_text_of_any_variable_is_refused(declare: Any) -> None:
    with pytest.raises(OutputTypeError, match="holds text"):
        resolve_types(declare, globals())
    assert not CALLED


READ = {
    "an alias of quoted text": (lambda: {"x": Text}, {"x": list[int]}),
    "quoted in the declaration": (lambda: {"x": "list[int]"}, {"x": list[int]}),
    "a note": (
        lambda: {"x": typing.Annotated[int, NOTE]},
        {"x": typing.Annotated[int, "in euros"]},
    ),
    "quoted in a type": (declare_local(list["int"]), {"x": list[list[int]]}),
    "a call in a type of a variable": (
        declare_local(types.GenericAlias(list, ("CALLED.append(1)",))),
        {},
    ),
    "a walrus in a type of a variable": (
        declare_local(types.GenericAlias(list, ("(int := str)",))),
        {},
    ),
}


@pytest.mark.parametrize(("declare", "expected"), READ.values(), ids=READ)
def test_text_that_is_read_as_a_type(declare: Any, expected: Any) -> None:
    assert resolve_types(declare, globals()) == expected
    assert not CALLED


def test_an_output_with_the_name_of_its_type_may_hold_text() -> None:
    date: Any = "2026-03-02"
    assert resolve_types(lambda: {"date": date}, {"date": int}, None, {"date"}) == {"date": int}
