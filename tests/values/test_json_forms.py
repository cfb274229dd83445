"""The JSON forms of types: what is written, what comes back, and what has no form."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Required, TypedDict

import pytest
from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, Strict

from njrt.errors import ConfigurationError
from njrt.values.json_forms import describe_object, describe_schema, make_json_form


class Color(enum.Enum):
    RED = 1
    BLUE = (2, 3)


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    color: Color


@dataclass(frozen=True)
class Order:
    dish: str
    color: Color = Color.RED


@dataclass
class Name:
    text: str

    def __post_init__(self) -> None:
        assert isinstance(self.text, str), "it runs on a value that was not checked"


class Named(NamedTuple):
    name: Name


class Movie(TypedDict):
    title: str
    color: NotRequired[Color]


class Strictly(BaseModel, strict=True):
    on: datetime.date
    ids: set[uuid.UUID] = set()
    size: tuple[int, ...] = ()
    names: dict[int, str] = {}
    price: decimal.Decimal = decimal.Decimal(1)


STRICTLY = Strictly(
    on=datetime.date(2024, 2, 29),
    ids={uuid.UUID(int=5)},
    size=(1,),
    names={1: "a"},
    price=decimal.Decimal("1.5"),
)
STRICTLY_WRITTEN = {
    "on": "2024-02-29",
    "ids": [str(uuid.UUID(int=5))],
    "size": [1],
    "names": {"1": "a"},
    "price": 1.5,
}
StrictBytes = Annotated[bytes, Strict()]
StrictDate = Annotated[datetime.date, Strict()]


def check_ends_with_z(value: object) -> object:
    if isinstance(value, str) and not value.endswith("Z"):
        raise ValueError("no time zone")
    return value


TimeWithZone = Annotated[datetime.datetime, BeforeValidator(check_ends_with_z)]


class Person(BaseModel):
    name: str
    age: int = Field(ge=0)


@dataclass
class Twin:
    dish: str
    color: Color = Color.BLUE


class Alias(enum.Enum):
    ONE = 1
    FIRST = 1  # noqa: PIE796


class Shade(enum.Enum):
    RED = "dark"


@dataclass
class Counted:
    color: Shade
    size: int
    total: int = field(init=False, default=7)


@dataclass
class Square:
    kind: Literal["square"]
    color: Color


@dataclass
class Circle:
    kind: Literal["circle"]
    color: Shade


@dataclass
class Tree:
    value: int
    children: list[Tree]


class Plain:
    pass


@pytest.mark.parametrize(
    ("declared", "written", "value", "description"),
    [
        (str, "a", "a", "string"),
        (int, 3, 3, "integer"),
        (float, 3, 3.0, "number"),
        (bool, True, True, "true | false"),
        (None, None, None, "null"),
        (Literal["a", 1, None], 1, 1, '"a" | 1 | null'),
        (Color, "BLUE", Color.BLUE, '"RED" | "BLUE"'),
        (Level, "HIGH", Level.HIGH, '"LOW" | "HIGH"'),
        (list[Color], ["RED"], [Color.RED], '["RED" | "BLUE", ...]'),
        (dict[str, Color], {"a": "RED"}, {"a": Color.RED}, '{string: "RED" | "BLUE", ...}'),
        (dict[Color, int], {"RED": 1}, {Color.RED: 1}, '{string: integer, ...}'),
        (dict[int, str], {"1": "a"}, {1: "a"}, '{string: string, ...}'),
        (Color | None, "RED", Color.RED, '"RED" | "BLUE" | null'),
        (int | str, "5", "5", 'integer | string'),
        (tuple[int, Color], [1, "RED"], (1, Color.RED), '[integer, "RED" | "BLUE"]'),
        (tuple[int, ...], [1], (1,), "[integer, ...]"),
        (tuple[()], [], (), "[]"),
        (set[int], [1, 1], {1}, "[integer, ...]"),
        (frozenset[Color], ["RED"], frozenset({Color.RED}), '["RED" | "BLUE", ...]'),
        (Sequence[str], ["a"], ["a"], '[string, ...]'),
        (Mapping[str, int], {"a": 1}, {"a": 1}, '{string: integer, ...}'),
        (Point, {"x": 1, "color": "RED"}, Point(1, Color.RED), '{"x": integer, "color": "RED" | "BLUE"}'),
        (Order, {"dish": "a"}, Order("a"), '{"dish": string, "color": "RED" | "BLUE" = "RED"}'),
        (Movie, {"title": "M", "color": "RED"}, {"title": "M", "color": Color.RED}, '{"title": string, "color" (may be left out): "RED" | "BLUE"}'),
        (Person, {"name": "a", "age": 3}, Person(name="a", age=3), '{"name": string, "age": integer}'),
        (datetime.date, "2024-02-29", datetime.date(2024, 2, 29), '"YYYY-MM-DD"'),
        (datetime.datetime, "2024-02-29T10:00:00", datetime.datetime(2024, 2, 29, 10), '"YYYY-MM-DDTHH:MM:SS"'),
        (datetime.timedelta, "PT1H", datetime.timedelta(hours=1), '"a duration such as PT1H30M"'),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10"), 'number | string'),
        (decimal.Decimal, 1.1, decimal.Decimal("1.1"), None),
        (uuid.UUID, "12345678123456781234567812345678", uuid.UUID(int=0x12345678123456781234567812345678), "string"),
        (PurePosixPath, "/a", PurePosixPath("/a"), "string"),
        (bytes, "ab", b"ab", "string"),
        (Literal[Color.RED, "x"], "RED", Color.RED, '"RED" | "x"'),
        (Color, 1, Color.RED, None),
        (Counted, {"color": "RED", "size": 1}, Counted(Shade.RED, 1), '{"color": "RED", "size": integer}'),
        (list[Square | Circle], [{"kind": "circle", "color": "RED"}], [Circle("circle", Shade.RED)], None),
        (Tree, {"value": 1, "children": [{"value": 2, "children": []}]}, Tree(1, [Tree(2, [])]), None),
        (list[Strictly], [STRICTLY_WRITTEN], [STRICTLY], None),
        (StrictBytes, "é", "é".encode(), None),
        (list[StrictBytes | int], ["a", 1], [b"a", 1], None),
        (dict[StrictBytes, int], {"a": 1}, {b"a": 1}, None),
        (StrictDate, "2024-02-29", datetime.date(2024, 2, 29), None),
    ],
)  # fmt: skip
def test_values_come_back_as_their_type(declared, written, value, description):
    form = make_json_form(declared)
    decoded = form.decode(written)
    assert decoded == value
    assert type(decoded) is type(value)
    assert description is None or describe_schema(form.schema_with_members) == description


@pytest.mark.parametrize("wrap", [lambda it: it | None, lambda it: list[it | int]])
def test_sets_of_classes_in_unions_are_made(wrap):
    form = make_json_form(wrap(frozenset[Order]))
    written = [{"dish": "a"}, {"dish": "b"}]
    made = frozenset({Order("a"), Order("b")})
    assert form.decode(written if wrap(int) == (int | None) else [written]) in (made, [made])


@pytest.mark.parametrize(
    ("declared", "one", "other"),
    [
        (dict[int, str], "1", "01"),
        (dict[float, str], "1", "1.0"),
        (dict[Alias, str], "ONE", "FIRST"),
    ],
)
def test_of_names_that_mean_one_key_the_last_counts(declared, one, other):
    """As in JSON, where a name that comes again replaces the first."""
    assert [*make_json_form(declared).decode({one: "a", other: "b"}).values()] == ["b"]


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        (Any, "any"),
        (object, "any"),
        (list, "any"),
        (dict[str, Any], "any"),
        (Callable[[], int], "callable"),
        (Iterator[int], "declares no fields"),
        (Iterable[int], "generator"),
        (type, "custom_error"),
        (Plain, "declares no fields"),
        (list[Plain], "declares no fields"),
        (ValueError, "declares no fields"),
        (type[Person], "is_subclass"),
        (dict[tuple[int, int], str], "stand for its keys"),
        (dict[int | str, str], "stand for its keys"),
        (list[PurePosixPath | str], "apart"),
        (datetime.date | str, "date and string apart"),
        (datetime.date | datetime.datetime, "date and date-time apart"),
        (list[int] | list[str], "array and array apart"),
        (dict[str, int] | Order, "object and Order apart"),
        (decimal.Decimal | float, "Decimal and number apart"),
        (str | uuid.UUID | None, "string and uuid apart"),
        (dict[str, list[datetime.time] | list[str]], "apart"),
        (Color | str, "Color and string apart"),
        (Literal["RED"] | Color, "apart"),
        (Order | Twin, "Order and Twin apart"),
        (Order | Counted, "Order and Counted apart"),
        (Literal["x"] | str, "apart"),
        (Color | Shade, "Color and Shade apart"),
    ],
)
def test_what_json_does_not_carry_has_no_form(declared, reason):
    with pytest.raises(TypeError, match=reason):
        make_json_form(declared)


@dataclass
class Painted:
    color: Color = Color.BLUE
    level: Level | None = Level.HIGH
    others: tuple[Color, ...] = (Color.RED,)


class Partial(TypedDict, total=False):
    movie: Movie
    size: int


def test_the_text_of_a_type_names_what_may_be_left_out_and_the_members_of_defaults():
    def describe(declared):
        return describe_schema(make_json_form(declared).schema_with_members)

    colors = '"RED" | "BLUE"'
    movie = f'{{"title": string, "color" (may be left out): {colors}}}'
    assert describe(Movie) == movie
    assert describe(Partial) == (
        f'{{"movie" (may be left out): {movie}, "size" (may be left out): integer}}'
    )
    assert describe(Painted) == (
        f'{{"color": {colors} = "BLUE", "level": "LOW" | "HIGH" | null = "HIGH", '
        f'"others": [{colors}, ...] = ["RED"]}}'
    )


@pytest.mark.parametrize(
    ("declared", "written", "words"),
    [
        (Literal["a", "b"], "c", "'a' or 'b'"),
        (Color, "GREEN", "'RED' or 'BLUE'"),
        (Person, {"name": "a", "age": -1}, "age: Input should be greater"),
        (list[int], [1, "x"], "1: Input should be a valid integer"),
        (Point, {"x": 1}, "color"),
        (list[Color], ["RED", 7], "1: Input should be 'RED' or 'BLUE'"),
        (datetime.date, 0, "format date"),
        (datetime.date, "20240229", "format date"),
        (datetime.datetime | None, 1.5, "format date-time"),
        (dict[str, list[str]], {"a": ["b", "\ud800"]}, "a.1: .*lone surrogates"),
        (dict[str, int], {"\udfff": 1}, "lone surrogates"),
        (list[float], [1, float("inf")], "1: .*finite"),
        (dict[datetime.date, int], {"1704153600": 1}, "format date"),
        (Literal[Color.RED, "x"], "BLUE", "^Input should be 'RED' or 'x'$"),
        (Order, ["a"], "dictionary"),
        (Order | None, [["a"]], "dictionary"),
        (list[Name], [[1]], "0: .*dictionary"),
        (dict[str, Name], {"a": [1]}, "a: .*dictionary"),
        (tuple[Name, ...], [["a"]], "0: .*dictionary"),
        (Named, [["a"]], "0: .*dictionary"),
        (Strictly, [1], "dictionary"),
        (Strictly, {"on": "2024-02-29", "size": ["1"]}, "Input should"),
        (Strictly, {"on": "2024-02-29", "ids": [[]]}, "Input should"),
        (StrictDate, "2024-02-30", "Input should"),
        (TimeWithZone, "2024-02-29T10:00", "no time zone"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(declared, written, words):
    with pytest.raises(ValueError, match=words):
        make_json_form(declared).decode(written)


class Leaf(TypedDict):
    text: str
    more: NotRequired[list[Leaf]]


class Folder(TypedDict, total=False):
    name: Required[str]
    file: File | None


class File(TypedDict):
    folder: Folder


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    full: str = Field(default="", alias="fullName")
    other: str = Field(default="", validation_alias=AliasChoices("other", "another"))


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str = ""


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = ""


class Step(NamedTuple):
    name: str = ""


@pytest.mark.parametrize(
    ("declared", "value", "description"),
    [
        (Leaf, {"text": "a", "more": [{"text": "b"}]},
         'Leaf, where Leaf is {"text": string, "more" (may be left out): [Leaf, ...]}'),
        (list[Leaf], [{"text": "a"}], None),
        (Folder, {"name": "a", "file": {"folder": {"name": "b", "file": None}}},
         'Folder, where Folder is {"name": string, "file" (may be left out): {"folder": Folder} | null}'),
        (dict[str, File | None], {"x": {"folder": {"name": "b"}}, "y": None}, None),
        (Tree, {"value": 1, "children": []}, 'Tree, where Tree is {"value": integer, "children": [Tree, ...]}'),
    ],
)  # fmt: skip
def test_types_that_refer_to_themselves_have_a_form(declared, value, description):
    form = make_json_form(declared)
    expected = Tree(1, []) if declared is Tree else value
    assert form.decode(value) == expected
    assert description in (None, describe_schema(form.schema_with_members))


def test_a_deep_type_is_described_to_its_end():
    inner: Any = int
    for number in range(9):
        inner = make_dataclass(f"Level{number}", [("inner", inner)])
    text = describe_schema(make_json_form(inner).schema_with_members)
    assert text == '{"inner": ' * 9 + "integer" + "}" * 9
    shared: Any = int
    for number in range(40):
        fields = [("left_of_it", shared), ("right_of_it", shared)]
        shared = make_dataclass(f"Shared{number}", fields)
    assert len(describe_schema(make_json_form(shared).schema_with_members)) < 5_000


@pytest.mark.parametrize(
    ("declared", "written", "message"),
    [
        (Step, {"Name": "tea"}, "there is no field `Name`; the fields are `name`"),
        (Counted, {"color": "RED", "size": 1, "total": 9}, "no field `total`; the fields are `color`, `size`"),
        (Partial, {"Size": 2}, "no field `Size`; the fields are `movie`, `size`"),
        (Partial, {"movie": {"title": "a", "Color": "RED"}}, "movie: there is no field `Color`"),
        (Renamed, {"fullname": "x"}, "no field `fullname`; the fields are `fullName`, `other`"),
        (Closed, {"Name": "x"}, "no field `Name`; the fields are `name`"),
        (list[Step], [{"name": "a"}, {"nam": "b"}], "1: there is no field `nam`"),
        (dict[str, Step], {"k": {"Name": "b"}}, "k: there is no field `Name`"),
        (Step | None, {"Name": "b"}, "no field `Name`"),
        (Order | None, {"Dish": "b"}, "no field `Dish`; the fields are `dish`, `color`"),
        (Step | int, {"Name": "b"}, "no field `Name`"),
        (tuple[Painted, int], [{"colour": "RED"}, 1], "0: there is no field `colour`"),
    ],
)  # fmt: skip
def test_names_that_are_no_fields_are_sent_back(declared, written, message):
    with pytest.raises(ValueError, match=message):
        make_json_form(declared).decode(written)


def test_fields_have_the_names_of_their_schema():
    form = make_json_form(Renamed)
    assert form.decode({"fullName": "a", "other": "b"}) == Renamed(full="a", other="b")
    for name in ("full", "another"):
        with pytest.raises(ValueError, match="the fields are `fullName`, `other`"):
            form.decode({name: "a"})
    assert make_json_form(Extra).decode({"size": 3}) == Extra(size=3)


class Size(enum.StrEnum):
    """The value of one member is the name of another."""

    S = "small"
    M = "S"
    XL = "large"


@pytest.mark.parametrize("kind", [Color, Size])
@pytest.mark.parametrize(
    ("wrap", "write"),
    [
        (lambda kind: kind, lambda name: name),
        (lambda kind: kind | None, lambda name: name),
        (lambda kind: kind | float, lambda name: name),
        (lambda kind: list[kind | None], lambda name: [name]),
        (lambda kind: list[int] | kind, lambda name: name),
        (lambda kind: dict[kind, int], lambda name: {name: 1}),
        (lambda kind: dict[Literal[(*kind, "-")], int], lambda name: {name: 1}),
        (lambda kind: Literal[(*kind,)] | None, lambda name: name),
    ],
)
def test_members_are_read_and_asked_for_by_their_names(kind, wrap, write):
    form = make_json_form(wrap(kind))
    for name, member in kind.__members__.items():
        assert form.decode(write(name)) == write(member)
    names = "(, | or )".join(map(repr, kind.__members__))
    with pytest.raises(ValueError, match=f"Input should be {names}($| or '-'$)"):
        form.decode(write("none of them"))


def test_two_classes_of_one_name_are_an_error():
    kinds = [make_dataclass("Leaf", [(name, int)]) for name in ("x", "y")]
    first, second = (make_json_form(list[kind | None]) for kind in kinds)
    with pytest.raises(ConfigurationError, match=r"two classes .* are named `Leaf`; rename one"):
        describe_object({"a": first, "b": second})
    assert describe_object({"a": first, "b": first}).count('"x": integer') == 2
