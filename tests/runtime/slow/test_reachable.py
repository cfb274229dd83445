"""What a hostile child can reach by attributes: a walk over everything that the door gives out, from common objects.

The code of a model cannot write such messages, but a child that has been taken over can: the walk talks to the door itself.
"""

from __future__ import annotations

import collections
import dataclasses
import decimal
import enum
import json
import logging
import random
import re
import sys
import types
import typing
import weakref
import zoneinfo
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pandas
import pydantic
import pytest

from njrt.execution.contained.door import Door, Refused
from njrt.execution.contained.known import CHILD_MODULES, resolve_known
from njrt.execution.contained.wire import WireError


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Mail:
    text: str
    color: Color = Color.RED

    @classmethod
    def parse(cls, text: str) -> Mail:
        return cls(text)

    @property
    def size(self) -> int:
        return len(self.text)


class Order(pydantic.BaseModel):
    number: int = 1


class Shop(dict[str, int]):
    """A class of the program."""


def count(mails: list[Mail]) -> int:
    return len(mails)


def generate() -> Iterator[int]:
    yield 1


async def wait() -> None:
    return


START: dict[str, Callable[[], Any]] = {
    "mail": lambda: Mail("x"),
    "mails": lambda: [Mail("x")],
    "class": lambda: Mail,
    "enum": lambda: Color,
    "function": lambda: count,
    "method": lambda: Mail("x").parse,
    "generator": generate,
    "iterator": lambda: iter([1]),
    "dict": lambda: {"a": [1]},
    "shop": Shop,
    "counter": lambda: collections.Counter("aab"),
    "named tuple": lambda: collections.namedtuple("Point", "x y")(1, 2),
    "pydantic": Order,
    "array": lambda: numpy.zeros(3),
    "frame": lambda: pandas.DataFrame({"a": [1]}),
    "style": lambda: pandas.DataFrame({"a": [1]}).style,
    "groups": lambda: pandas.DataFrame({"a": [1]}).groupby("a"),
    "series": lambda: pandas.Series([1]),
    "zone": lambda: zoneinfo.ZoneInfo("UTC"),
    "context": lambda: decimal.Context(),
    "random": lambda: random.Random(1),
    "pattern": lambda: re.compile("a"),
    "match": lambda: re.match("a", "a"),
    "error": lambda: json.JSONDecodeError("x", "y", 1),
    "logger": lambda: logging.getLogger("shop"),
    "alias": lambda: typing.Annotated[Mail, 1],
    "generic": lambda: list[int],
    "weak": lambda: weakref.WeakSet(),
    "view": lambda: memoryview(b"abc"),
    "bytearray": lambda: bytearray(b"abc"),
    "type": lambda: type,
    "simple": lambda: types.SimpleNamespace(x=1),
}
MOST = 4000
_WITH_EFFECTS = """_ctypes _io _posixsubprocess _socket _sqlite3 asyncio ctypes ftplib gc importlib marshal
multiprocessing nt os pickle posix pty shutil signal smtplib socket sqlite3 ssl subprocess sys tempfile urllib"""
DANGEROUS_MODULES = set(_WITH_EFFECTS.split()) | {
    "builtins.open",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "_imp",
    "inspect",
    "threading",
    "_thread",
    "code",
    "runpy",
    "pty",
}


def is_dangerous(value: Any) -> bool:
    """Return whether an object is a way to files, processes, memory or the interpreter."""
    if isinstance(value, types.ModuleType | types.FrameType | types.CodeType | types.TracebackType):
        return True
    if any(value is one for one in (eval, exec, compile, open, input, __import__, globals)):
        return True
    if type(value).__module__.startswith("jinja2"):
        return True
    home = getattr(value, "__module__", None)
    is_code = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
    return is_code and isinstance(home, str) and home.partition(".")[0] in DANGEROUS_MODULES


def list_names(value: Any) -> list[str]:
    """Return the names of attributes that a child may try: the hidden ones of its class, too."""
    found = set(dir(type(value)))
    try:
        found |= set(dir(value))
    except Exception:
        found |= set()
    return sorted(
        found
        | {"__class__", "__dict__", "__globals__", "__code__", "__wrapped__", "__subclasses__", "gi_frame", "tb_frame"}
    )  # fmt: skip


@pytest.mark.parametrize("start", START)
@pytest.mark.filterwarnings("ignore")
def test_no_attribute_leads_to_a_way_out(start: str) -> None:
    door = Door(frozenset(), lambda *_: None)
    door.encode(START[start]())
    waiting = collections.deque(door._objects)
    seen, gets, found = set(waiting), 0, []
    while waiting and gets < MOST:
        number = waiting.popleft()
        for name in list_names(door._objects[number]):
            gets += 1
            try:
                value = door.perform("get", [["r", number], name])
                door.encode(value)
            except (Refused, WireError):
                continue
            except Exception:  # of the object itself
                continue
            try:
                if is_dangerous(value):
                    found.append((door._objects[number], name, value))
            except Exception:  # of comparisons, as of arrays
                continue
        waiting += [new for new in door._objects if new not in seen]
        seen |= set(door._objects)
    assert gets > 20 or start == "type"  # of this class the code has its own
    assert not found, found[:5]


def walk_paths(value: Any, path: str, depth: int) -> Iterator[str]:
    """Yield paths through modules and classes, as a child may send them."""
    for name in sorted(vars(value)):
        yield f"{path}{name}"
        member = vars(value)[name]
        if depth and isinstance(member, type | types.ModuleType):
            yield from walk_paths(member, f"{path}{name}.", depth - 1)


@pytest.mark.parametrize("module", sorted(CHILD_MODULES | {"builtins"}))
def test_a_known_name_is_a_class_that_its_module_defines(module: str) -> None:
    if module not in sys.modules:
        pytest.skip("not loaded here")
    for path in walk_paths(sys.modules[module], "", 1):
        try:
            found = resolve_known(module, path)
        except (KeyError, AttributeError):
            continue
        assert isinstance(found, type)
        assert found.__module__ == module or module == "types"


@pytest.mark.parametrize(
    "message",
    [
        ["get", ["k", "dataclasses", "inspect.importlib.machinery.SourceFileLoader"], "get_data"],
        ["get", ["k", "builtins", "object"], "__subclasses__"],
        ["get", ["k", "uuid", "UUID"], "from_bytes"],
        ["call", ["k", "collections", "Counter"], [], {}],
        ["call", ["k", "types", "FunctionType"], [], {}],
        ["op", "__call__", ["k", "builtins", "list"]],
        ["import", "os", False],
        ["import", "os.path", True],
        ["get", ["module", "os"], "system"],
        ["get", ["module", "json"], "codecs"],
        ["super", ["k", "builtins", "dict"], ["r", 1]],
        ["set", ["k", "collections", "Counter"], "x", 1],
        ["del", ["k", "collections", "Counter"], "update"],
    ],
    ids=str,
)
def test_raw_messages(message: list[Any]) -> None:
    door = Door(frozenset(), lambda *_: None)
    door.encode(Mail("x"))
    with pytest.raises((Refused, WireError, KeyError, AttributeError, ImportError)):
        door.perform(message[0], message[1:])


def test_members_of_libraries_that_do_more_than_their_object(tmp_path: Any) -> None:
    door = Door(frozenset(), lambda *_: None)
    frame, order = pandas.DataFrame({"a": [1]}), Order()
    target = str(tmp_path / "out.csv")
    number, other = door._refer(frame), door._refer(order)
    for name in ("eval", "query", "to_pickle"):
        with pytest.raises(Refused, match="pandas"):
            door.perform("get", [["r", number], name])
    for name in ("parse_raw", "parse_file"):
        with pytest.raises(Refused, match="pydantic"):
            door.perform("get", [["r", other], name])
    reference = door.encode(door.perform("get", [["r", number], "to_csv"]))
    assert isinstance(reference, list)
    writer = reference[1]
    assert door.perform("call", [["r", writer], [], {}]) == ",a\n0,1\n"
    for args, named in (([target], {}), ([], {"path_or_buf": target})):
        with pytest.raises(PermissionError, match="writes no file"):
            door.perform("call", [["r", writer], args, named])
    open_door = Door(frozenset({"pandas"}), lambda *_: None)
    number = open_door._refer(frame)
    assert open_door.perform("get", [["r", number], "query"]) is not None
