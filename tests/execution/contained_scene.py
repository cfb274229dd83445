"""The scene of `test_contained_oracle.py`: objects and exceptions with all that Python's data model allows."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import json
import zoneinfo
from collections.abc import Callable
from typing import Any


class Slots:
    __slots__ = ("x", "y")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, x: Any, y: Any = None) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slots) and self.x == other.x

    def __repr__(self) -> str:
        return f"Slots({self.x!r}, {self.y!r})"


class Magic:
    """Has every public attribute but `nothing`."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("_") or name == "nothing":
            raise AttributeError(f"no {name}")
        return name * 2

    def __repr__(self) -> str:
        return "Magic()"


class Properties:
    def __init__(self, value: Any = 1) -> None:
        self._value, self.data = value, {"k": [1, {"z": (1, 2)}]}

    @property
    def v(self) -> Any:
        return self._value

    @v.setter
    def v(self, value: Any) -> None:
        if value is None:
            raise ValueError("v is not None")
        self._value = value

    @property
    def broken(self) -> Any:
        raise KeyError("broken")

    @property
    def lost(self) -> Any:
        raise AttributeError("lost inside")

    @classmethod
    def make(cls, value: Any) -> Properties:
        return cls(value)

    @staticmethod
    def twice(value: Any) -> Any:
        return value * 2

    def __repr__(self) -> str:
        return f"Properties({self._value!r}, {self.data!r})"


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: tuple[Any, ...] = ()


@dataclasses.dataclass(order=True)
class Ordered:
    rank: int
    name: str = ""


class Vector:
    def __init__(self, *numbers: Any) -> None:
        self.numbers = list(numbers)

    def __add__(self, other: Any) -> Any:
        pairs = zip(self.numbers, other.numbers) if isinstance(other, Vector) else None  # noqa: B905
        return NotImplemented if pairs is None else Vector(*[a + b for a, b in pairs])

    def __iadd__(self, other: Any) -> Vector:
        self.numbers = [
            number + (other if isinstance(other, int) else 1) for number in self.numbers
        ]
        return self

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        return self.numbers[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.numbers[index] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vector) and self.numbers == other.numbers

    def __hash__(self) -> int:
        return len(self.numbers)

    def __index__(self) -> Any:
        return self.numbers[0]

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def __repr__(self) -> str:
        return f"Vector{(*self.numbers,)}"


class Plain(Exception): ...


class Sub(Plain): ...


class NeedsArguments(Exception):
    def __init__(self, code: int, *, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code, self.detail = code, detail


class Unreadable(OSError):
    def __init__(self, path: str, *, why: str) -> None:
        super().__init__(2, f"no such {why}", path)
        self.why = why


class OwnMembers(Exception):
    """An exception with special methods, and with members that Python's exceptions have too."""

    def __len__(self) -> int:
        return 3

    def __eq__(self, other: object) -> bool:
        return other == 3

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Any:
        return iter("own")

    def __call__(self, number: int) -> int:
        return number + 1

    def __format__(self, form: str) -> str:
        return f"own {form}"

    def add_note(self, note: str) -> None:
        super().add_note(f"own {note}")


class OwnStop(StopIteration): ...


class OwnKey(KeyError): ...


class NotFound(ImportError):
    def __init__(self, name: str) -> None:
        super().__init__(f"no {name}", name=name, path="here")


class Many(Plain, ValueError): ...


class BadText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Color(enum.Enum):
    RED = "r"
    GREEN = "g"


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError("eq")

    def __hash__(self) -> int:
        raise TypeError("no hash")

    def __len__(self) -> int:
        return -5

    def __bool__(self) -> bool:
        return "x"  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "Hostile()"


class Descriptor:
    def __get__(self, owner: Any, kind: type) -> str:
        return "class" if owner is None else f"descriptor {owner.n}"

    def __set__(self, owner: Any, value: Any) -> None:
        owner.n = value


class Described:
    d = Descriptor()

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, *args: Any, k: int = 1) -> Any:
        return args, k

    def __repr__(self) -> str:
        return f"Described({self.n!r})"


def make_scene() -> dict[str, Any]:
    inner: list[Any] = [1, [2, {"a": [3]}]]
    cyclic: list[Any] = [1]
    cyclic.append(cyclic)
    return {
        "slots": Slots(1, [2]),
        "magic": Magic(),
        "properties": Properties(),
        "frozen": Frozen(1, (2, 3)),
        "ordered": Ordered(2, "b"),
        "vector": Vector(1, 2, 3),
        "nested": inner,
        "table": {"i": inner, "t": (1, inner), 1: Color.RED, None: 0},
        "hostile": Hostile(),
        "described": Described(),
        "color": Color.GREEN,
        "some": {1, (2, 3)},
        "queue": collections.deque([1, 2, 3], maxlen=3),
        "lists": collections.defaultdict(list, {"q": [1]}),
        "counts": collections.Counter("aab"),
        "moment": datetime.datetime(2026, 1, 2, 3, 4, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
        "big": 10**400,
        "text": "\ud800\x00",
        "error": NeedsArguments(3, detail="x"),
        "cyclic": cyclic,
        "n": 5,
        "s": "text",
    }


def make_functions(scene: dict[str, Any]) -> dict[str, Any]:
    """Return the functions and classes that the code may call."""

    def guard(function: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
        try:
            return "ok", function(*args)
        except Exception as error:
            return "error", type(error).__name__

    def fill(container: Any) -> int:
        """Put objects with hash functions of the program into a container."""
        keys = [Frozen(1), Frozen(2), Color.RED, Vector(1), Vector(2)]
        if isinstance(container, dict):
            container.update({key: number for number, key in enumerate(keys)})
        elif isinstance(container, set):
            container.update(keys)
        else:
            container.extend(keys)
        return len(container)

    return {
        "guard": guard,
        "fill": fill,
        "fail": lambda kind: fail(kind, scene["nested"]),
        "Slots": Slots,
        "Vector": Vector,
        "Frozen": Frozen,
        "Plain": Plain,
        "Sub": Sub,
    }


def fail(kind: str, inner: Any) -> None:
    """Raise an exception of every kind."""
    match kind:
        case "chain":
            try:
                raise KeyError("inner")
            except KeyError as error:
                raise Plain("outer") from error
        case "context":
            try:
                print(1 / 0)
            except ZeroDivisionError:
                raise Sub("context", 2)  # noqa: B904
        case "note":
            noted = Plain("noted")
            noted.add_note("a note")
            raise noted
        case "fields":
            fields = KeyError("fields")
            fields.data, fields.flag, fields.nothing = [1, inner], True, None  # type: ignore[attr-defined]
            raise fields
        case "unicode":
            b"\xff".decode("ascii")
        case "open":
            open("/nonexistent/x").close()
        case "syntax":
            compile("x = (", "file.py", "exec")
        case "json":
            json.loads("{")
    raise {
        "need": NeedsArguments(7, detail="boom"),
        "stop": StopIteration(4),
        "denied": PermissionError("denied"),
        "own_stop": OwnStop([1]),
        "os": Unreadable("f.txt", why="file"),
        "own_members": OwnMembers("m", 2),
        "key": OwnKey("k", [1]),
        "import": NotFound("thing"),
        "many": Many(1, {2: [3]}),
        "bad_text": BadText(1),
    }[kind]
