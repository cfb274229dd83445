"""Python code by data effects alone, as by a model that has no Python: read, think, write.

    player.health -= 3      lookup("player")                 -> {"type": "Ref", "addr": 1, ...}
                            deref(1)                         -> {"attributes": {"health": 10}, ...}
                            setref(1, {"health": 7})

Everything that the code can reach is read into a mirror, the code runs on the mirror, and what has changed
there is written back. Objects keep their identity, for a mirrored object is written as its reference. Code
that makes functions, classes or objects of the program, or calls them, cannot be said in this way.
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
"""What a model says in one block: it yields a tool call and is sent the answer's text."""
ReadGenerator = Generator[ToolCall, str, Any]


class Mirror:
    """What has been read so far (state: objects by address, and what they held when they were read)."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.addresses: dict[int, int] = {}
        self.before: dict[int, dict[Any, WireValue]] = {}

    def read(self, wire: WireValue) -> ReadGenerator:
        """The value that a wire stands for, with all that can be reached from it."""
        if not (isinstance(wire, dict) and wire.get("type") == "Ref"):
            return wire
        address = wire["addr"]
        if address not in self.objects:
            level = json.loads((yield call("deref", ref=make_reference(address))))
            yield from self.mirror_object(address, wire["class"], level)
        return self.objects[address]

    def mirror_object(self, address: int, kind: str, level: WireValue) -> ReadGenerator:
        """Mirror one object, and then what it holds, so that cycles end."""
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
                )  # a class, told in words: only to be passed on
            case _:
                raise TypeError(f"a {kind} has no mirror")

    def register(self, address: int, mirrored: Any) -> Any:
        """Note which object is behind an address."""
        self.objects[address] = mirrored
        self.addresses[id(mirrored)] = address
        return mirrored

    def take_snapshot(self) -> None:
        """Keep what every object holds now, before it is worked on."""
        self.before = {address: self.encode_items(known) for address, known in self.objects.items()}

    def encode_items(self, mirrored: Any) -> dict[Any, WireValue]:
        """What an object holds, place by place."""
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

    def writes(self) -> Iterator[ToolCall]:
        """The calls that bring the program's objects to where their mirrors are."""
        for address, known in list(self.objects.items()):
            held, before = self.encode_items(known), self.before[address]
            if held == before:
                continue
            if isinstance(known, SimpleNamespace):
                held = {name: held[name] for name in held if held[name] != before.get(name, ...)}
                value = encode_dict(held)
            else:
                value = self.contents(known)
            yield call("setref", ref=make_reference(address), val=value)

    def encode(self, value: Any) -> WireValue:
        """A value as it is sent: objects of the program by reference, what is new by its contents."""
        known = self.addresses.get(id(value))
        return self.contents(value) if known is None else make_reference(known)

    def contents(self, value: Any) -> WireValue:
        """A value as it is sent, written out one level deep."""
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
    """A reference as both sides write it."""
    return {"type": "Ref", "addr": address}


def encode_dict(held: dict[Any, WireValue]) -> WireValue:
    """A dict as it is sent."""
    return {
        "type": "dict",
        "items": [{"key": key, "value": value} for key, value in held.items()],
    }


def make_data_effect_calls(statements: list[ast.stmt]) -> ToolCallGenerator:
    """Do what the statements do, by lookup, deref, setref and assign."""
    code = ast.Module(statements, [])
    reads = find_external_names(code)
    if any(needs_python(node, reads) for node in ast.walk(code)):
        raise UnsupportedCodeError(f"data effects cannot say `{ast.unparse(code)}`")
    mirror, namespace = Mirror(), dict[str, Any]()
    for name in reads:
        namespace[name] = yield from mirror.read(json.loads((yield call("lookup", var=name))))
    mirror.take_snapshot()
    try:
        exec(compile(code, "<mirror>", "exec"), namespace)
    except Exception as error:
        raise UnsupportedCodeError(
            f"data effects cannot say `{ast.unparse(code)}`: {error}"
        ) from error
    yield from mirror.writes()
    for name in find_assigned_names(statements):
        yield call("assign", var=name, val=mirror.encode(namespace[name]))


def find_external_names(code: ast.Module) -> list[str]:
    """The variables that code reads and does not bind itself, in the order of their names."""
    names = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return sorted(loaded - stored - set(dir(builtins)))


def needs_python(node: ast.AST, variables: list[str]) -> bool:
    """Whether a piece of code defines something, or calls what a variable holds."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return True
        case ast.Call(ast.Name(name)):
            return name in variables
        case _:
            return False


def find_assigned_names(statements: list[ast.stmt]) -> list[str]:
    """The variables that plain assignments bind, once each, in order."""
    targets = [
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    return list(dict.fromkeys(targets))
