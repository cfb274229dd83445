"""Python code as data effects alone, as used by a model without Python: read, compute, write.

    player.health -= 3      lookup("player")                 -> {"type": "Ref", "addr": 1, ...}
                            deref(1)                         -> {"attributes": {"health": 10}, ...}
                            setref(1, {"health": 7})

Everything that the code can reach is read into a mirror, the code runs on the mirror, and the changes are written
back. Objects keep their identity, because a mirrored object is written as its reference. Not supported: code that
makes functions, classes or objects of the program, or calls them.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Generator, Iterator
from types import SimpleNamespace
from typing import Any

from njrt.effects import WireValue
from njrt.messages import ToolCall
from njrt.models.scripted import call
from spsbench.script import UnsupportedCodeError

ToolCallGenerator = Generator[ToolCall, str, None]
"""The calls of a model in one block: it yields a tool call and is sent the answer's text."""
ReadGenerator = Generator[ToolCall, str, Any]


class Mirror:
    """The mirrored objects (state: objects by address, and their contents when they were read)."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.addresses: dict[int, int] = {}
        self.before: dict[int, dict[Any, WireValue]] = {}

    def read(self, wire: WireValue) -> ReadGenerator:
        """Yield the value of a wire form, with everything that can be reached from it."""
        if not (isinstance(wire, dict) and wire.get("type") == "Ref"):
            return wire
        address = wire["addr"]
        if address not in self.objects:
            level = json.loads((yield call("deref", ref=make_reference(address))))
            yield from self.mirror_object(address, wire["class"], level)
        return self.objects[address]

    def mirror_object(self, address: int, kind: str, level: WireValue) -> ReadGenerator:
        """Mirror one object, and then its contents, so that cycles end."""
        match kind, level:
            case "list", list():
                mirrored: Any = self.register(address, [])
                for item in level:
                    mirrored.append((yield from self.read(item)))
            case "dict", {"items": pairs}:
                mirrored = self.register(address, {})
                for pair in pairs:
                    key = yield from self.read(pair["key"])
                    mirrored[key] = yield from self.read(pair["value"])
            case "set", {"items": items}:
                mirrored = self.register(address, set())
                for item in items:
                    mirrored.add((yield from self.read(item)))
            case _, {"attributes": attributes}:
                mirrored = self.register(address, SimpleNamespace())
                for name, value in attributes.items():
                    if not name.startswith("_"):
                        setattr(mirrored, name, (yield from self.read(value)))
            case _, {"about": _}:
                self.register(
                    address, SimpleNamespace()
                )  # a class, described as text: it can only be passed on
            case _:
                raise TypeError(f"a {kind} has no mirror")

    def register(self, address: int, mirrored: Any) -> Any:
        """Record the object of an address."""
        self.objects[address] = mirrored
        self.addresses[id(mirrored)] = address
        return mirrored

    def take_snapshot(self) -> None:
        """Record the contents of every object before the code runs."""
        self.before = {address: self.encode_items(known) for address, known in self.objects.items()}

    def encode_items(self, mirrored: Any) -> dict[Any, WireValue]:
        """Return the contents of an object, by place."""
        match mirrored:
            case SimpleNamespace():
                places: Iterator[tuple[Any, Any]] = iter(vars(mirrored).items())
            case dict():
                places = iter(mirrored.items())
            case set():
                places = ((item, item) for item in mirrored)
            case _:
                places = enumerate(mirrored)
        return {place: self.encode(value) for place, value in places}

    def make_writes(self) -> Iterator[ToolCall]:
        """Yield the calls that copy the changes of the mirrors to the program's objects."""
        for address, known in list(self.objects.items()):
            held, before = self.encode_items(known), self.before[address]
            if held == before:
                continue
            if isinstance(known, SimpleNamespace):
                held = {name: held[name] for name in held if held[name] != before.get(name, ...)}
                value = encode_dict(held)
            else:
                value = self.encode_contents(known)
            yield call("setref", ref=make_reference(address), val=value)

    def encode(self, value: Any) -> WireValue:
        """Return a value as it is sent: objects of the program by reference, new ones by their contents."""
        known = self.addresses.get(id(value))
        return self.encode_contents(value) if known is None else make_reference(known)

    def encode_contents(self, value: Any) -> WireValue:
        """Return the contents of a value as they are sent, one level deep."""
        match value:
            case None | bool() | int() | float() | str():
                return value
            case list() | tuple():
                return [self.encode(item) for item in value]
            case dict():
                return encode_dict(self.encode_items(value))
            case set():
                return {"type": "set", "items": [self.encode(item) for item in value]}
            case _:
                raise TypeError(f"a {type(value).__name__} cannot be sent")


def make_reference(address: int) -> WireValue:
    """Return a reference in wire form."""
    return {"type": "Ref", "addr": address}


def encode_dict(held: dict[Any, WireValue]) -> WireValue:
    """Return a dict in wire form."""
    return {
        "type": "dict",
        "items": [{"key": key, "value": value} for key, value in held.items()],
    }


def make_data_effect_calls(statements: list[ast.stmt]) -> ToolCallGenerator:
    """The effects `lookup`, `deref`, `setref` and `assign` that are equivalent to the statements."""
    code = ast.Module(statements, [])
    reads = find_external_names(code)
    if any(needs_python(node, reads) for node in ast.walk(code)):
        raise UnsupportedCodeError(f"data effects cannot express `{ast.unparse(code)}`")
    mirror, namespace = Mirror(), dict[str, Any]()
    for name in reads:
        namespace[name] = yield from mirror.read(json.loads((yield call("lookup", var=name))))
    mirror.take_snapshot()
    try:
        exec(compile(code, "<mirror>", "exec"), namespace)
    except Exception as error:
        raise UnsupportedCodeError(
            f"data effects cannot express `{ast.unparse(code)}`: {error}"
        ) from error
    yield from mirror.make_writes()
    for name in find_assigned_names(statements):
        yield call("assign", var=name, val=mirror.encode(namespace[name]))


def find_external_names(code: ast.Module) -> list[str]:
    """Return the variables that code reads and does not bind, sorted."""
    names = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return sorted(loaded - stored - set(dir(builtins)))


def needs_python(node: ast.AST, variables: list[str]) -> bool:
    """Return whether a node defines something, or calls the value of a variable."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.Call(ast.Name(name)):
            return name in variables
        case _:
            return False


def find_assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Return the variables that plain assignments bind, once each, in order."""
    targets = [
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    return list(dict.fromkeys(targets))
