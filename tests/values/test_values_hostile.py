"""However hostile an object is, it is shown, within its budget, and nothing of it is evaluated."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from njrt.values.rendering.describe import describe_variable, render_value


class Trap(Exception):
    """Raised by code that must not run."""


def trap(*_: object, **__: object) -> Any:
    raise Trap


def hostile(name: str, bases: tuple[type, ...] = (), **members: Any) -> Any:
    """Return an instance of a class whose other special methods are as given."""
    return type(name, bases, members)()


def forever(*_: object) -> Any:
    while True:
        pass


class Meta(type):
    __hash__ = trap
    __eq__ = trap
    __repr__ = trap
    __getattribute__ = trap
    __instancecheck__ = trap
    __subclasscheck__ = trap


class Lazy:
    def __init__(self) -> None:
        self.__dict__["_ready"] = False

    def __getattr__(self, name: str) -> Any:
        raise Trap

    __len__ = __bool__ = __iter__ = __eq__ = __hash__ = __contains__ = __getitem__ = trap


class Everything:
    """Whatever Python may ask of it, it refuses."""

    def __getattribute__(self, name: str) -> Any:
        raise Trap

    __class__ = property(trap)
    __dict__ = property(trap)
    __doc__ = property(trap)
    __len__ = __bool__ = __iter__ = __eq__ = __hash__ = __str__ = __format__ = __dir__ = trap
    __lt__ = __gt__ = __call__ = __index__ = __int__ = __contains__ = __getitem__ = trap


class Evaluated:
    def __get__(self, instance: object, owner: type) -> Any:
        raise Trap


class WithDescriptors:
    lazy = Evaluated()
    total = property(trap)

    def __init__(self) -> None:
        self.name = "plain"


TRAPPED = {
    "lazy": Lazy(),
    "everything": Everything(),
    "descriptors": WithDescriptors(),
    "metaclass": Meta("WithMeta", (), {})(),
    "list subclass": hostile(
        "L", (list,), __iter__=trap, __len__=trap, __getitem__=trap, __eq__=trap
    ),
    "dict subclass": hostile(
        "D", (dict,), __iter__=trap, __len__=trap, items=trap, keys=trap, __getitem__=trap
    ),
    "str subclass": hostile("S", (str,), __len__=trap, __getitem__=trap, __str__=trap),
    "int subclass": hostile("I", (int,), __str__=trap, __index__=trap, bit_length=trap),
    "tuple subclass": hostile("T", (tuple,), __iter__=trap, __len__=trap),
    "set subclass": hostile("E", (set,), __iter__=trap, __len__=trap),
    "exception": hostile("X", (Exception,), __str__=trap, args=property(trap)),
    "claims to be a list": hostile("Liar", (), __class__=list),
    "claims to be numpy's": hostile("ndarray", (), __module__="numpy", shape=property(trap)),
    "names that are no strings": hostile("N", (), __module__=7, __doc__=trap, __slots__=()),
    "fields that are none": hostile(
        "F", (), __dataclass_fields__=3, __pydantic_fields__=trap, _fields=1
    ),
}


@pytest.mark.parametrize("trapped", TRAPPED)
def test_nothing_of_an_object_is_evaluated(trapped: str) -> None:
    value = TRAPPED[trapped]
    for shown in (value, [value], {"key": value}, type(value)):
        assert "Trap" not in describe_variable("x", shown)
        assert "Trap" not in render_value(shown)
        assert "cannot be shown" not in render_value(shown)


FAILING: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (trap, "whose __repr__ raised Trap"),
    "exits": (lambda self: exit(3), "whose __repr__ raised SystemExit"),
    "recurses": (lambda self: repr(self), "whose __repr__ raised RecursionError"),
    "no string": (lambda self: 3, "whose __repr__ raised TypeError"),
    "loops": (forever, "whose __repr__ took longer"),
}


@pytest.mark.parametrize(("method", "says"), FAILING.values(), ids=FAILING.keys())
def test_a_failing_repr_is_shown_as_such(method: Callable[..., Any], says: str) -> None:
    value = hostile("Broken", (), __repr__=method)
    assert says in describe_variable("x", value)
    assert describe_variable("x", value).startswith("x: Broken = <Broken ")


def test_a_repr_that_hangs_hangs_once() -> None:
    slow = type("Slow", (), {"__repr__": forever})
    began = time.process_time()
    text = render_value([slow() for _ in range(10)])
    assert time.process_time() - began < 2
    assert text.count("took longer") == 1


def test_a_repr_that_is_interrupted_by_the_user_interrupts() -> None:
    def interrupted(self: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        describe_variable("x", hostile("I", (), __repr__=interrupted))


def test_an_object_that_others_change_meanwhile_is_shown() -> None:
    shared: dict[int, object] = {n: n for n in range(100)}
    over = threading.Event()

    def change() -> None:
        while not over.is_set():
            shared[len(shared)] = 1
            shared.pop(next(iter(shared)))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200):
            assert describe_variable("shared", shared, 500).startswith("shared: dict")
    finally:
        over.set()
        thread.join()


def test_classes_are_not_altered() -> None:
    class Bare:
        def method(self) -> None: ...

    before = dict(vars(Bare))
    describe_variable("Bare", Bare)
    describe_variable("bare", Bare())
    assert dict(vars(Bare)) == before


DEEP = 50_000


def test_deep_nesting_and_long_chains_are_shown() -> None:
    nested: list[Any] = []
    chain: Any = None
    for _ in range(DEEP):
        nested = [nested]
        chain = type("Link", (), {})() if chain is None else chain
        link = object.__new__(type(chain))
        link.__dict__["next"] = chain
        chain = link
    assert render_value(nested, 100) == "list[list], 1 item = [[[[[...]]]]]"
    assert "Link" in render_value(chain, 200)
    while chain is not None:  # take the chain apart: CPython frees a long one by deep recursion
        chain = chain.__dict__.pop("next", None)
    while nested:
        nested = nested.pop()


class Held:
    def __init__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)


class Said:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Planted:
    """Stands for a hostile object, which hypothesis itself could not handle."""

    def __init__(self, name: str) -> None:
        self.name = name


def planted(value: Any) -> Any:
    """Return the value, with the hostile objects in place."""
    match value:
        case Planted():
            return TRAPPED[value.name]
        case list() | tuple():
            return type(value)(map(planted, value))
        case dict():
            return {key: planted(item) for key, item in value.items()}
        case Held():
            return Held({key: planted(item) for key, item in vars(value).items()})
        case _:
            return value


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),
    st.binary(max_size=50),
    st.sampled_from(list(TRAPPED)).map(Planted),
    st.text(st.characters()).map(Said),
)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.dictionaries(st.text(), inner).map(Held),
        st.sets(st.integers() | st.text()),
    ),
    max_leaves=30,
)


@given(values, st.integers(min_value=30, max_value=2000))
def test_any_value_is_shown_within_any_budget(seed: Any, budget: int) -> None:
    value = planted(seed)
    for text in (describe_variable("value", value, budget), render_value(value, budget)):
        assert 0 < len(text) <= budget
        assert text.replace("\n", "").isprintable()
        assert json.loads(json.dumps(text.encode("utf-8").decode("utf-8"))) == text
    assert describe_variable("value", value, budget) == describe_variable("value", value, budget)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(plain, st.integers(min_value=20, max_value=400))
def test_plain_data_is_written_as_python_writes_it_or_marked_as_shortened(
    value: Any, budget: int
) -> None:
    text = render_value(value, budget)
    assert text == repr(value) or "..." in text
