"""The scope itself: looking up, assigning, outputs and their types, putting bindings back, letting go."""

# The variables that only snippets bind look undefined and unused to ruff, and lambdas late-bound.
# ruff: noqa: F821

from __future__ import annotations

import abc
import collections.abc
import dataclasses
import decimal
import enum
import gc
import typing
import weakref
from typing import Annotated, Any, Literal, NamedTuple, Optional, Protocol, TypedDict, Union

import pytest

from njrt.effects import Refusal
from njrt.scope.scope import Absent, Bound, list_loaded_names, make_scope
from njrt.scope.typecheck import find_type_mismatch

setting = 1


def test_lookup_tells_unbound_and_unknown_apart() -> None:
    def f(x):
        y: int
        scope = make_scope(lambda: (x, y, setting, len), writes="y")
        names = ("x", "y", "setting", "len", "abs", "other", "scratch")
        scope.assign("scratch", 4)
        return [scope.lookup(name) for name in names]

    assert f(3) == [
        Bound(3), Absent.UNBOUND, Bound(setting), Bound(len), Bound(abs), Absent.UNKNOWN, Bound(4),
    ]  # fmt: skip


def test_lookup_in_a_class_body() -> None:
    namespace: dict[str, Any] = {"a": 1}
    scope = make_scope(lambda: (), writes="b", ns=namespace, own="a b setting", cls="Box")
    assert (scope.lookup("a"), scope.lookup("b")) == (Bound(1), Absent.UNBOUND)
    assert scope.lookup("setting") == Bound(setting)
    assert scope.assign("b", 2) is None
    assert namespace == {"a": 1, "b": 2}


def test_assign_follows_the_rules_of_the_prompt() -> None:
    def f(x):
        y = 1
        scope = make_scope(lambda: (x, y), writes="y")
        refusal = scope.assign("x", 9)
        assert scope.assign("y", 2) is None
        assert scope.assign("z", 3) is None
        return x, y, refusal, scope.lookup("z")

    x, y, refusal, z = f(0)
    assert (x, y, z) == (0, 2, Bound(3))
    assert isinstance(refusal, Refusal)
    assert refusal.message.startswith("`x` is read-only in this block")


def test_shadowing_makes_a_name_of_the_blocks_own() -> None:
    def f(x):
        scope = make_scope(lambda: (x,), shadowing=True)
        assert scope.assign("x", 9) is None
        return x, scope.lookup("x")

    assert f(0) == (0, Bound(9))


def test_private_names() -> None:
    def f(_Box__x):
        scope = make_scope(lambda: (_Box__x,), writes="__x", cls="Box")
        scope.assign("__x", 5)
        return _Box__x, scope.lookup("__x"), scope.list_unbound_outputs()

    assert f(1) == (5, Bound(5), ())


def test_names_come_in_the_order_of_the_prompt() -> None:
    def f(zebra, apple):
        return make_scope(lambda: (zebra, setting, apple), own="own", ns={}).names

    assert f(1, 2) == ("zebra", "setting", "apple", "own")
    assert list_loaded_names((lambda: ()).__code__) == ()


class Thing:
    name: str


def test_outputs_are_bound_or_not() -> None:
    def f():
        y: int
        thing = Thing()
        scope = make_scope(lambda: (y, thing), writes="y thing.name")
        missing = [scope.list_unbound_outputs()]
        scope.assign("y", 1)
        thing.name = "n"
        missing.append(scope.list_unbound_outputs())
        return (
            missing,
            scope.is_bound("y"),
            scope.is_bound("thing.other"),
            scope.read_value("thing.name"),
        )

    assert f() == ([("y", "thing.name"), ()], True, False, "n")


def test_a_global_output_named_like_a_builtin_is_unbound() -> None:
    module: dict[str, Any] = {"__name__": "host", "make_scope": make_scope}
    exec("missing = make_scope(lambda: (id,), writes='id').list_unbound_outputs()", module)
    assert module["missing"] == ("id",)


def test_snapshot_and_restore() -> None:
    def f(x):
        y: int
        z = [1]
        scope = make_scope(lambda: (x, y, z), writes="x y z")
        before = scope.save_bindings()
        for name in ("x", "y", "z"):
            scope.assign(name, 9)
        scope.restore_bindings(before)
        return x, scope.is_bound("y"), z

    assert f(3) == (3, False, [1])


def test_snapshot_of_module_and_class() -> None:
    module: dict[str, Any] = {"__name__": "host", "make_scope": make_scope, "x": 1}
    exec("s = make_scope(lambda: (x, y), writes='x y')", module)
    before = module["s"].save_bindings()
    module["s"].assign("x", 2)
    module["s"].assign("y", 2)
    module["s"].restore_bindings(before)
    assert module["x"] == 1
    assert "y" not in module
    namespace: dict[str, Any] = {"a": 1}
    scope = make_scope(lambda: (), writes="a b", ns=namespace, own="a b")
    before = scope.save_bindings()
    namespace.update(a=2, b=2)
    scope.restore_bindings(before)
    assert namespace == {"a": 1}


def test_misfits_name_the_output() -> None:
    def f():
        y = "a"
        thing = Thing()
        thing.name = 3  # type: ignore[assignment]
        scope = make_scope(
            lambda: (y, thing),
            writes="y thing.name",
            types=lambda: {"y": list[int], "thing.name": str},
        )
        return scope.misfits()

    assert f() == (
        "`y`: expected list[int]; Input should be a valid list (got str)",
        "`thing.name`: expected str, got int",
    )


def test_types_are_evaluated_once_and_late() -> None:
    asked = []

    def f():
        y = 1
        scope = make_scope(lambda: (y,), writes="y", types=lambda: asked.append(1) or {"y": int})
        return [scope.misfits(), scope.misfits()]

    assert f() == [(), ()]
    assert asked == [1]


def test_types_that_cannot_be_evaluated_are_unchecked() -> None:
    def f(types):
        y = 1
        return make_scope(lambda: (y,), writes="y", types=types).misfits()

    assert f(lambda: {"y": Missing}) == ()
    assert f(lambda: {"y": "Missing"}) == ()
    assert f(lambda: {"y": list["Missing"]}) == ()
    assert f(lambda: {"y": "list[Thing]"}) != ()


def test_close_lets_go_of_everything() -> None:
    def f():
        thing = Thing()
        scope = make_scope(lambda: (thing,), types=lambda: {"thing": type(thing)})
        scope.close()
        return scope, weakref.ref(thing)

    gc.disable()
    try:
        scope, reference = f()
        assert reference() is None
        assert scope.lookup("thing") is Absent.UNKNOWN
    finally:
        gc.enable()


# --- types


class Color(enum.Enum):
    RED = 1


class Movie(TypedDict):
    title: str


class Sized(Protocol):
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


Shape.register(Order)
Age = typing.NewType("Age", int)

FITS = [
    (1, int), (1, float), (1.5, float), (1, complex), (True, bool), ("a", str), (None, None), (None, type(None)),
    (object(), object), ([1], Any), (Color.RED, Color), (Order([]), Order), (Order([]), Shape), (Pair(1), Pair),
    (decimal.Decimal(1), decimal.Decimal), ([1, 2], list[int]), ([], list[int]), ({"a": [1]}, dict[str, list[int]]),
    ((1, "a"), tuple[int, str]), ((1, 2, 3), tuple[int, ...]), ({1}, set[int]), (1, int | str), (None, int | None),
    (None, Optional[int]), ("a", Union[int, str]), ("a", Literal["a", "b"]), (5, Annotated[int, "note"]),  # noqa: UP007, UP045
    ({"title": "x"}, Movie), ([Order([])], list[Order]), (len, collections.abc.Callable), (len, collections.abc.Callable[[int], int]),
    (Order, type[Order]), ((x for x in ()), collections.abc.Iterator[int]), (object(), Sized), (Thing(), Thing),
    (3, Age), ([Thing()], list[Thing]), ([1.0, 2], list[float]), (iter([]), collections.abc.Iterable[int]),
]  # fmt: skip

MISFITS = [
    ("1", int, "expected int, got str"),
    (True, int, "expected int, got bool"),
    (1.0, int, "expected int, got float"),
    (True, float, "expected float, got bool"),
    (None, str, "expected str, got None"),
    (1, None, "expected None, got int"),
    ({"items": []}, Order, "expected Order, got dict"),
    ([1, "a"], list[int], "expected list[int]; at 1: Input should be a valid integer (got str)"),
    ([True], list[int], "expected list[int]; at 0: Input should be a valid integer (got bool)"),
    ((1,), list[int], "expected list[int]; Input should be a valid list (got tuple)"),
    ("c", Literal["a", "b"], "expected Literal['a', 'b']; Input should be 'a' or 'b' (got str)"),
    ({"title": 1}, Movie, "expected Movie; at title: Input should be a valid string (got int)"),
    ({}, Movie, "expected Movie; at title: Field required (got dict)"),
    (Thing(), Named, "expected Named, got Thing"),
    (3, collections.abc.Callable[[int], int], None),
    ([{}], list[Order], None),
    (int, type[Order], None),
    ("x", int | None, None),
]


@pytest.mark.parametrize(("value", "declared"), FITS)
def test_values_that_fit(value: object, declared: object) -> None:
    pytest.importorskip("pydantic")
    assert find_type_mismatch(value, declared) is None


@pytest.mark.parametrize(("value", "declared", "message"), MISFITS)
def test_values_that_do_not_fit(value: object, declared: object, message: str | None) -> None:
    pytest.importorskip("pydantic")
    found = find_type_mismatch(value, declared)
    assert found is not None
    assert message is None or found == message


def test_checking_changes_and_consumes_nothing() -> None:
    pytest.importorskip("pydantic")
    value, source = [1, 2], iter([1, 2])
    assert find_type_mismatch(value, list[float]) is None
    assert find_type_mismatch(source, collections.abc.Iterator[int]) is None
    assert [type(each) for each in value] == [int, int]
    assert list(source) == [1, 2]


def test_constraints_of_annotated_types() -> None:
    pydantic = pytest.importorskip("pydantic")
    declared = Annotated[int, pydantic.Field(gt=0)]
    assert find_type_mismatch(3, declared) is None
    assert "greater than 0" in (find_type_mismatch(-3, declared) or "")
    assert find_type_mismatch(3, Annotated[int, []]) is None


def test_models_are_asked_for_as_instances() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Model", x=(int, ...))
    assert find_type_mismatch(model(x=1), model) is None
    assert find_type_mismatch([model(x=1)], list[model]) is None  # type: ignore[valid-type]
    assert find_type_mismatch({"x": 1}, model) == "expected Model, got dict"
    message = "expected list[Model]; at 0: Input should be an instance of Model (got dict)"
    assert find_type_mismatch([{"x": 1}], list[model]) == message  # type: ignore[valid-type]


def test_arrays_by_their_class() -> None:
    numpy = pytest.importorskip("numpy")
    declared = numpy.ndarray[Any, numpy.dtype[numpy.float64]]
    assert find_type_mismatch(numpy.zeros(2), declared) is None
    assert find_type_mismatch([0.0], declared) is not None
