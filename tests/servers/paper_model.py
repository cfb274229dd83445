"""A script's code in every effect set of the paper, for `spsbench.perfect.make_perfect_model`.

    direct, nightjar, shared-python     as `spsbench.perfect` writes it
    shared-eval                         eval(expression) for each statement; done() ...
    isolated-eval                       lookup, deref, setref, assign on a mirror; done() ...
    baseline                            as above; goto(label="break") ...

Some effect sets cannot express all code: expressions cannot define classes or generator functions,
and data effects cannot create objects. Such code raises `UnsupportedCodeError`.
"""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Generator, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from njrt.effects import WireValue
from njrt.testing import Scripted, ToolCall, call
from spsbench import perfect
from spsbench.interfaces import EffectSet
from spsbench.perfect import ToolCallGenerator
from spsbench.script import CaseScript, UnsupportedCodeError


def make_perfect_model(lines: CaseScript, effects: EffectSet | None = None) -> Scripted:
    """Return a model that replies with one script piece per block run, in any effect set."""
    return perfect.make_perfect_model(lines, effects, make_effect_calls)


def make_effect_calls(code: str, effects: EffectSet) -> ToolCallGenerator:
    """Yield a piece of code as tool calls of an effect set; the last call ends the block."""
    if effects in perfect.SCRIPTED_EFFECTS:
        yield from perfect.make_effect_calls(code, effects)
        return
    *body, last = ast.parse(code).body
    if not isinstance(last, ast.Break | ast.Continue | ast.Raise):
        body.append(last)
    if effects == "shared-eval":
        for expression in to_expressions(body):
            yield call("eval", expr=expression)
    else:
        yield from make_data_effect_calls(body)
    yield from make_ending_calls(last, effects)


def make_ending_calls(last: ast.stmt, effects: EffectSet) -> ToolCallGenerator:
    """Yield the calls that end a block, normally or by a jump."""
    match last:
        case ast.Break() | ast.Continue():
            label = type(last).__name__.lower()
            yield call("goto", label=label, val=None) if effects == "baseline" else call(label)
        case ast.Raise(ast.Call(ast.Name(kind), [ast.Constant(str(message))])) if (
            effects == "baseline"
        ):
            yield call("goto", label="raise", val=f"{kind}: {message}")
        case ast.Raise(ast.Call(ast.Name(kind)) as error):
            match effects:
                case "isolated-eval":
                    yield from make_data_effect_calls(ast.parse(f"error = {kind}").body)
                case _:
                    yield call("eval", expr=f"(error := {ast.unparse(error)})")
            yield call("raise", error="error")
        case _:
            yield call("done")


# ── Python statements as expressions ──────────────────────────────────────────────────────────────


def to_expressions(statements: Iterable[ast.stmt]) -> list[str]:
    """Return the equivalent expression for each statement."""
    return list(map(to_expression, statements))


def to_expression(statement: ast.stmt) -> str:
    """Return one statement as an equivalent expression."""
    match statement:
        case ast.Expr(value):
            return ast.unparse(value)
        case ast.Pass():
            return "None"
        case ast.Assign([target], value):
            return make_assignment_expression(target, ast.unparse(value))
        case ast.AugAssign(target, operator, value):
            return make_assignment_expression(
                target, ast.unparse(ast.BinOp(target, operator, value))
            )
        case ast.For(target, values, body, []):
            inner = ", ".join(to_expressions(body))
            return f"[[{inner}] for {ast.unparse(target)} in {ast.unparse(values)}]"
        case ast.FunctionDef(name, parameters, [ast.Return(ast.expr() as value)]):
            return f"({name} := lambda {ast.unparse(parameters)}: {ast.unparse(value)})"
        case _:
            raise UnsupportedCodeError(f"no expression is equivalent to `{ast.unparse(statement)}`")


def make_assignment_expression(target: ast.expr, value: str) -> str:
    """Return the expression that stores `value` as an assignment to `target` would."""
    match target:
        case ast.Name(name):
            return f"({name} := {value})"
        case ast.Attribute(owner, name):
            return f"setattr({ast.unparse(owner)}, {name!r}, {value})"
        case ast.Subscript(owner, ast.Slice(None, None, None)):
            items = ast.unparse(owner)
            return f"[kept := {value}, {items}.clear(), {items}.extend(kept)]"
        case ast.Subscript(owner, key) if not isinstance(key, ast.Slice):
            return f"{ast.unparse(owner)}.update({{{ast.unparse(key)}: {value}}})"
        case _:
            raise UnsupportedCodeError(f"no expression assigns to `{ast.unparse(target)}`")


# ── Python code as data effects alone ─────────────────────────────────────────────────────────────


ReadGenerator = Generator[ToolCall, str, Any]


class Mirror:
    """The mirrored objects (state: objects by address, and their contents when read)."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}
        self.addresses: dict[int, int] = {}
        self.before: dict[int, dict[Any, WireValue]] = {}

    def read(self, wire: WireValue) -> ReadGenerator:
        """Yield the calls that read a wire form and everything it reaches; return its value."""
        if not (isinstance(wire, dict) and wire.get("type") == "Ref"):
            return wire
        address = wire["addr"]
        if address not in self.objects:
            level = json.loads((yield call("deref", ref=make_reference(address))))
            yield from self.mirror_object(address, wire["class"], level)
        return self.objects[address]

    def mirror_object(self, address: int, kind: str, level: WireValue) -> ReadGenerator:
        """Mirror an object before its contents, so that cycles end."""
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
            case _, {"about": _}:  # a class, described as text, can only be passed on
                self.register(address, SimpleNamespace())
            case _:
                raise TypeError(f"a {kind} has no mirror")

    def register(self, address: int, mirrored: Any) -> Any:
        self.objects[address] = mirrored
        self.addresses[id(mirrored)] = address
        return mirrored

    def take_snapshot(self) -> None:
        """Record the contents of every object before the code runs."""
        self.before = {address: self.encode_items(known) for address, known in self.objects.items()}

    def encode_items(self, mirrored: Any) -> dict[Any, WireValue]:
        """Return the contents of an object, keyed by place."""
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
        """Return the encoded value: the program's objects by reference, new objects by contents."""
        known = self.addresses.get(id(value))
        return self.encode_contents(value) if known is None else make_reference(known)

    def encode_contents(self, value: Any) -> WireValue:
        """Return the contents of a value in wire form, one level deep."""
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
    return {"type": "dict", "items": [{"key": key, "value": value} for key, value in held.items()]}


def make_data_effect_calls(statements: list[ast.stmt]) -> ToolCallGenerator:
    """Yield the effects `lookup`, `deref`, `setref` and `assign` equivalent to the statements."""
    code = ast.Module(statements, [])
    reads = find_external_names(code)
    if any(needs_python(node, reads) for node in ast.walk(code)):
        raise UnsupportedCodeError(f"data effects cannot express `{ast.unparse(code)}`")
    mirror, namespace = Mirror(), dict[str, Any]()
    for name in reads:
        namespace[name] = yield from mirror.read(json.loads((yield call("lookup", var=name))))
    mirror.take_snapshot()
    try:
        exec(compile(code, "<mirror>", "exec", dont_inherit=True), namespace)
    except Exception as error:
        raise UnsupportedCodeError(
            f"data effects cannot express `{ast.unparse(code)}`: {error}"
        ) from error
    yield from mirror.make_writes()
    targets = (
        target.id
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    )
    for name in dict.fromkeys(targets):
        yield call("assign", var=name, val=mirror.encode(namespace[name]))


def find_external_names(code: ast.Module) -> list[str]:
    """Return the sorted names of variables that the code reads but does not bind."""
    names = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return sorted(loaded - stored - set(dir(builtins)))


def needs_python(node: ast.AST, variables: list[str]) -> bool:
    """Return whether a node defines something or calls the value of a variable."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in variables
    return isinstance(node, ast.FunctionDef | ast.ClassDef)
