"""An object that the program has is chosen by its number, not retyped.

A new kind of class is one line of `CLASSES`; a new type of output is one line of a table.
"""

from __future__ import annotations

from typing import Any

import pytest
from programs import PlainProgram, told

import njrt
from njrt.testing import Scripted, run

CLASSES = {
    "frozen": '''
        @dataclass(frozen=True)
        class Item:
            name: str
            price: float
    ''',
    "hidden": '''
        @dataclass(frozen=True)
        class Item:
            name: str
            price: float
            stock: int = field(default=7, repr=False)
    ''',
    "slots": '''
        @dataclass(frozen=True, slots=True)
        class Item:
            name: str
            price: float
    ''',
    "named tuple": '''
        class Item(NamedTuple):
            name: str
            price: float
    ''',
    "pydantic": '''
        class Item(BaseModel, frozen=True):
            name: str
            price: float

            @field_validator("name")
            @classmethod
            def check(cls, name):
                return name
    ''',
    "mutable": '''
        @dataclass
        class Item:
            name: str
            price: float
    ''',
    "methods": '''
        @dataclass(frozen=True)
        class Item:
            name: str
            price: float

            def buy(self): ...
    ''',
    "constructor": '''
        class Item:
            def __init__(self, name, price):
                self.name, self.price = name, price
    ''',
    "frozen constructor": '''
        @dataclass(frozen=True)
        class Item:
            name: str
            price: float

            def __init__(self, name, price):
                object.__setattr__(self, "name", name)
                object.__setattr__(self, "price", price)
    ''',
    "attrs": '''
        @attrs.frozen
        class Item:
            name: str
            price: float
    ''',
}  # fmt: skip
DATA = ("frozen", "slots", "named tuple", "pydantic")

HEAD = """
        import attrs
        from collections.abc import Mapping, Sequence
        from dataclasses import dataclass, field
        from typing import NamedTuple
        from pydantic import BaseModel, field_validator
"""
CHOOSE = '''
        def choose(items: %s):
            """natural(effects="answer")
            Put the best of <items> into <:b: %s>.
            """
            return b

        def make(name, price):
            return Item(name=name, price=price)
'''  # fmt: skip


class Shop:
    """A program with one class and one block that chooses, and what its model was told."""

    def __init__(self, kind: str, output: str = "Item", items: str = "Sequence[Item]") -> None:
        program = PlainProgram(HEAD + CLASSES[kind] + CHOOSE % (items, output))
        self.names = program.load()
        self.apple = self.names["make"]("apple", 1.25)
        self.fries = self.names["make"]("fries", 3.0)
        self.told: list[str] = []

    def choose(self, items: Any, *says: Any, **settings: Any) -> Any:
        model = Scripted(says)
        try:
            with njrt.using(model=model, **settings):
                return self.names["choose"](items)
        finally:
            self.told = told(model)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_number_is_the_object_itself(kind: str) -> None:
    shop = Shop(kind)
    assert shop.choose((shop.apple, shop.fries), {"b": 2}) is shop.fries
    fields = [
        f"(name='{name}', price={price})" for name, price in (("apple", 1.25), ("fries", 3.0))
    ]
    assert f"items = (#1 Item{fields[0]}, #2 Item{fields[1]})" in shop.told[0]
    ways = 'Reply with {"b": Item number | {"name": string' if kind in DATA else "Item number}"
    assert ways in shop.told[0]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("again", [{"name": "fries", "price": 3}, "#2", True, 2.0, 3, 0, None])
def test_what_is_no_number_is_no_copy(kind: str, again: Any) -> None:
    shop = Shop(kind)
    is_repeated = kind in DATA and isinstance(again, dict)
    replies = [{"b": again}] if is_repeated else [{"b": again}, {"b": 2}]
    chosen = shop.choose([shop.apple, shop.fries], *replies)
    assert chosen == shop.fries if is_repeated else chosen is shop.fries
    assert len(shop.told) == len(replies)
    if not is_repeated:
        assert "is not the number of an object of `Item`; the numbers are 1 to 2" in shop.told[1]


@pytest.mark.parametrize("kind", DATA)
def test_new_fields_are_a_new_object(kind: str) -> None:
    shop = Shop(kind)
    made = shop.choose([shop.apple], {"b": {"name": "apple", "price": 2}})
    assert (type(made), made.name, made.price) == (type(shop.apple), "apple", 2.0)
    with pytest.raises(njrt.OutputTypeError, match="there is no field `Name`"):
        shop.choose([shop.apple], *([{"b": {"Name": "apple", "price": 1.25}}] * 4))


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("output", "reply"),
    [
        *(("list[Item]", [2, 1]), ("tuple[Item, Item]", [2, 1]), ("Sequence[Item]", [2, 1])),
        *(("dict[str, Item]", {"a": 2, "b": 1}), ("list[Item | None]", [2, None, 1])),
    ],
)
def test_objects_are_chosen_inside_of_collections(kind: str, output: str, reply: Any) -> None:
    shop = Shop(kind, output)
    made = shop.choose([shop.apple, shop.fries], {"b": reply})
    chosen = [each for each in (made.values() if isinstance(made, dict) else made) if each]
    assert chosen[0] is shop.fries
    assert chosen[1] is shop.apple


@pytest.mark.parametrize("kind", CLASSES)
def test_none_may_be_chosen(kind: str) -> None:
    shop = Shop(kind, "Item | None")
    assert shop.choose([shop.apple], {"b": None}) is None
    assert shop.choose([shop.apple], {"b": 1}) is shop.apple
    assert shop.choose([], {"b": 1}, {"b": None}) is None


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind not in (*DATA, "hidden")])
def test_no_object_is_an_error_before_asking(kind: str) -> None:
    shop = Shop(kind)
    with pytest.raises(njrt.ConfigurationError, match=r"hold no `Item`; add `\| None`"):
        shop.choose([])
    assert shop.told == []
    assert Shop(kind, "list[Item]").choose([], {"b": [1]}, {"b": []}) == []


def test_objects_without_annotations_are_chosen_too() -> None:
    shop = Shop("mutable", items="list")
    assert shop.choose([shop.apple], {"b": 1}) is shop.apple
    with pytest.raises(njrt.ConfigurationError):
        Shop("constructor", items="list").choose([])


def test_objects_are_numbered_wherever_they_are_shown() -> None:
    shop = Shop("frozen", items="Mapping[str, tuple[Item, ...]]")
    held = {"cheap": (shop.apple,), "all": (shop.apple, shop.fries)}
    assert shop.choose(held, {"b": 2}) is shop.fries
    assert "{'cheap': (#1 Item(name='apple', price=1.25),), 'all': (#1 " in shop.told[0]


def test_equal_objects_have_numbers_of_their_own() -> None:
    shop = Shop("frozen")
    twin = shop.names["make"]("apple", 1.25)
    assert shop.choose([shop.apple, twin], {"b": 2}) is twin


def test_numbers_that_could_be_values_need_code() -> None:
    shop = Shop("frozen", "Item | int")
    assert shop.choose([shop.apple], run("b = items[0]", done=True)) is shop.apple
    with pytest.raises(njrt.PolicyError, match="does not tell"):
        shop.choose([shop.apple], authority="strict")


OTHER_BLOCKS = '''
        @dataclass
        class Line:
            item: Item
            count: int

        @dataclass(frozen=True)
        class Shape:
            name: str

        @dataclass(frozen=True)
        class Square(Shape):
            side: float

        def order(menu: Sequence[Item], text: str) -> list[Line]:
            """natural
            Read the order in <text> from <menu>: <:lines: list[Line]>
            """
            return lines

        def back(items: Sequence[Item]) -> Item:
            """natural
            Return the best of <items>.
            """

        def biggest(shapes: Sequence[Shape], items: Sequence[Item]):
            """natural
            Put the biggest of <shapes> into <:shape: Shape>, and the best of <items> into <:item: Item>.
            """
            return shape, item

        def read(text: str) -> Item:
            """natural
            Read <text>: <:item: Item>
            """
            return item

        make, square = Item, Square
'''
OTHERS = PlainProgram(HEAD + CLASSES["frozen"] + OTHER_BLOCKS)


def call(name: str, *arguments: Any, says: list[Any]) -> Any:
    with OTHERS.saying(says) as names:
        made = [eval(each, names) if isinstance(each, str) else each for each in arguments]
        return names[name](*made), made, OTHERS.told()


def test_an_object_in_a_field_of_a_new_object_is_chosen() -> None:
    says = {"lines": [{"item": 2, "count": 3}, {"item": {"name": "a", "price": 1}, "count": 1}]}
    lines, (menu, _), _ = call("order", "[make('a', 1), make('b', 2)]", "'text'", says=[says])
    assert [(line.item is menu[1], line.count) for line in lines] == [(True, 3), (False, 1)]
    assert lines[1].item == menu[0]


def test_a_returned_object_is_chosen() -> None:
    chosen, (items,), _ = call("back", "[make('a', 1), make('b', 2)]", says=[{"return": 2}])
    assert chosen is items[1]


def test_numbers_are_shared_by_all_classes() -> None:
    says = [{"shape": 3, "item": 2}, {"shape": 2, "item": 3}]
    chosen, made, asked = call(
        "biggest", "[square('s', 1.5), square('t', 2)]", "[make('a', 1)]", says=says
    )
    assert chosen[0] is made[0][1]
    assert chosen[1] is made[1][0]
    assert "#2 Square(name='t', side=2)" in asked[0]
    assert "3 is not the number of an object of `Shape`; the numbers are 1 to 2" in asked[1]


def test_without_objects_of_its_class_an_output_is_made() -> None:
    made, _, asked = call("read", "'tea, 2'", says=[{"item": {"name": "tea", "price": 2}}])
    assert (made.name, made.price) == ("tea", 2.0)
    assert "number |" not in asked[0]


def test_a_hidden_object_cannot_be_chosen() -> None:
    block = '''
        def choose(secret_items: Sequence[Item], items: Sequence[Item]):
            """natural
            Put the best of <secret_items> and <items> into <:b: Item>.
            """
            return b
    '''
    program = PlainProgram(HEAD + CLASSES["frozen"] + block)
    with program.saying([{"b": 2}, {"b": 1}]) as names:
        hidden, shown = names["Item"]("a", 1), names["Item"]("b", 2)
        assert names["choose"](([hidden]), [shown]) is shown
    assert "the numbers are 1 to 1" in program.told()[1]
