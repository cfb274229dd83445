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

from njrt.effects import Wire
from njrt.messages import ToolCall
from njrt.models.scripted import call
from spsbench.script import UnsayableError

Speech = Generator[ToolCall, str, None]
"""What a model says in one block: it yields a tool call and is sent the answer's text."""
Reading = Generator[ToolCall, str, Any]


class Mirror:
    """What has been read so far (state: objects by address, and what they held when they were read)."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.addresses: dict[int, int] = {}
        self.before: dict[int, dict[Any, Wire]] = {}

    def read(self, wire: Wire) -> Reading:
        """The value that a wire stands for, with all that can be reached from it."""
        if not (isinstance(wire, dict) and wire.get("type") == "Ref"):
            return wire
        address = wire["addr"]
        if address not in self.objects:
            level = json.loads((yield call("deref", ref=reference(address))))
            yield from self.fill(address, wire["class"], level)
        return self.objects[address]

    def fill(self, address: int, kind: str, level: Wire) -> Reading:
        """Mirror one object, and then what it holds, so that cycles end."""
        match kind, level:
            case "list", list():
                mirrored: Any = self.enter(address, [])
                for item in level:
                    mirrored.append((yield from self.read(item)))
            case "dict", {"items": pairs}:
                mirrored = self.enter(address, {})
                for pair in pairs:
                    key = yield from self.read(pair["key"])
                    mirrored[key] = yield from self.read(pair["value"])
            case "set", {"items": items}:
                mirrored = self.enter(address, set())
                for item in items:
                    mirrored.add((yield from self.read(item)))
            case _, {"attributes": attributes}:
                mirrored = self.enter(address, SimpleNamespace())
                for name, value in attributes.items():
                    if not name.startswith("_"):
                        setattr(mirrored, name, (yield from self.read(value)))
            case _, {"about": _}:
                self.enter(
                    address, SimpleNamespace()
                )  # a class, told in words: only to be passed on
            case _:
                raise TypeError(f"a {kind} has no mirror")

    def enter(self, address: int, mirrored: Any) -> Any:
        """Note which object is behind an address."""
        self.objects[address] = mirrored
        self.addresses[id(mirrored)] = address
        return mirrored

    def look(self) -> None:
        """Keep what every object holds now, before it is worked on."""
        self.before = {address: self.held(known) for address, known in self.objects.items()}

    def held(self, mirrored: Any) -> dict[Any, Wire]:
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
        return {place: self.wire(value) for place, value in places}

    def writes(self) -> Iterator[ToolCall]:
        """The calls that bring the program's objects to where their mirrors are."""
        for address, known in list(self.objects.items()):
            held, before = self.held(known), self.before[address]
            if held == before:
                continue
            if isinstance(known, SimpleNamespace):
                held = {name: held[name] for name in held if held[name] != before.get(name, ...)}
                value = pairs(held)
            else:
                value = self.contents(known)
            yield call("setref", ref=reference(address), val=value)

    def wire(self, value: Any) -> Wire:
        """A value as it is sent: objects of the program by reference, what is new by its contents."""
        known = self.addresses.get(id(value))
        return self.contents(value) if known is None else reference(known)

    def contents(self, value: Any) -> Wire:
        """A value as it is sent, written out one level deep."""
        match value:
            case None | bool() | int() | float() | str():
                return value
            case list() | tuple():
                return [self.wire(item) for item in value]
            case dict():
                return pairs(self.held(value))
            case set():
                return {"type": "set", "items": [self.wire(item) for item in value]}
            case _:
                raise TypeError(f"a {type(value).__name__} cannot be sent")


def reference(address: int) -> Wire:
    """A reference as both sides write it."""
    return {"type": "Ref", "addr": address}


def pairs(held: dict[Any, Wire]) -> Wire:
    """A dict as it is sent."""
    return {
        "type": "dict",
        "items": [{"key": key, "value": value} for key, value in held.items()],
    }


def by_data_effects(statements: list[ast.stmt]) -> Speech:
    """Do what the statements do, by lookup, deref, setref and assign."""
    code = ast.Module(statements, [])
    reads = read_by(code)
    if any(needs_python(node, reads) for node in ast.walk(code)):
        raise UnsayableError(f"data effects cannot say `{ast.unparse(code)}`")
    mirror, namespace = Mirror(), dict[str, Any]()
    for name in reads:
        namespace[name] = yield from mirror.read(json.loads((yield call("lookup", var=name))))
    mirror.look()
    try:
        exec(compile(code, "<mirror>", "exec"), namespace)
    except Exception as error:
        raise UnsayableError(f"data effects cannot say `{ast.unparse(code)}`: {error}") from error
    yield from mirror.writes()
    for name in bound_by(statements):
        yield call("assign", var=name, val=mirror.wire(namespace[name]))


def read_by(code: ast.Module) -> list[str]:
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


def bound_by(statements: list[ast.stmt]) -> list[str]:
    """The variables that plain assignments bind, once each, in order."""
    targets = [
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    return list(dict.fromkeys(targets))
