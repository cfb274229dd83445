"""From natural blocks to calls of the runtime, still as data: what each call is given, what follows it.

    <:response: list[str]> and <query> in a loop of a function

    LoweredBlock(
        declarations=("response: list[str]",)     only where nothing else makes it a local variable
        call="_nj.run"
        arguments=(lambda: (query, response), writes="response", types=..., labels="break continue return",
                   at="mailbox.njpy:12")
        arms=(("_nj.Break", "break"), ..., ("_nj.Return as _nj_r", "return _nj_r.value"))
    )

The lambda makes closure cells of the variables, so the runtime shares the variables themselves. What is
emitted, and in which order, follows from the source alone: the same file gives the same bytes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from njc.frontend.blocks import NaturalBlock
from njc.frontend.names import (
    Definition,
    Global,
    Home,
    Local,
    Outputs,
    Scope,
    TypeParameter,
    home_of,
    mangled,
)
from njc.frontend.references import is_type, parsed_type, spelled
from njrt.options import NAMES, Options

PACKAGE = "njrt"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of the call. With items it can be laid out on several lines: `opening items closing`."""

    opening: str
    items: tuple[str, ...] = ()
    closing: str = ""


@dataclass(frozen=True, slots=True)
class LoweredBlock:
    """The call that stands for a block: what is declared before it, passed to it, and caught after it."""

    block: NaturalBlock
    declarations: tuple[str, ...]
    call: str
    arguments: tuple[Argument, ...]
    arms: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WrittenBlock:
    """Code that stands for a block in place of a call: generated when the program is built."""

    block: NaturalBlock
    code: str
    """The lines that replace the block, without indentation."""
    imports: tuple[str, ...] = ()
    """Imports that go to the head of the file."""
    needs_runtime: bool = False
    """The code refers to the runtime."""
    attempt: str = ""
    """Where the code is only tried before the call: the name of the attempt."""
    shapes: tuple[tuple[str, str], ...] = ()
    """The shapes that variables must have for the attempt, by their names."""
    conditions: tuple[str, ...] = ()
    """What must hold of the values besides, as expressions."""


@dataclass(frozen=True, slots=True)
class GuardedBlock:
    """Written code that is tried first, with the call behind it for all that the code is not fit for."""

    written: WrittenBlock
    live: LoweredBlock

    @property
    def block(self) -> NaturalBlock:
        """The block that both stand for."""
        return self.live.block


Lowered = LoweredBlock | WrittenBlock | GuardedBlock


def instead_of(lowered: LoweredBlock, written: WrittenBlock | None) -> Lowered:
    """The call, or what was written to take its place or to be tried before it."""
    if written is None:
        return lowered
    if not written.attempt:
        return written
    return GuardedBlock(written, lowered)


def digestible(written: Iterable[WrittenBlock]) -> str:
    """All that written code adds to a compiled file, as one text."""
    return "\0".join(
        f"{each.block.start}\0{each.imports}\0{each.shapes}\0{each.conditions}\0{each.code}"
        for each in written
    )


@dataclass(frozen=True, slots=True)
class Aliases:
    """Names that the module uses nowhere: for the runtime, and for a caught return."""

    runtime: str
    returned: str


def aliases_for(text: str) -> Aliases:
    """Choose `_nj` and `_nj_r`, or the first numbered ones that do not occur in the text."""
    number = 0
    while re.search(rf"\b_nj{number or ''}(?:_r)?\b", text):
        number += 1
    return Aliases(f"_nj{number or ''}", f"_nj{number or ''}_r")


def lower(
    blocks: Iterable[NaturalBlock],
    outputs: Outputs,
    aliases: Aliases,
    path: str,
    project: Options,
) -> Iterator[LoweredBlock]:
    """Lower the blocks of a module; their options are already merged with those of the file."""
    blocks = tuple(blocks)
    types = _declared_types(blocks)
    declared: set[tuple[Scope, str]] = set()
    for block in blocks:
        fresh = [
            (key, name)
            for name in block.binds
            if (key := _key(block, name)) not in declared
            and _needs_declaration(block.scope, key[1], outputs)
        ]
        declared.update(key for key, _ in fresh)
        yield LoweredBlock(
            block,
            tuple(
                line
                for key, name in fresh
                for line in _declaration(
                    name, block.scope, types.get(key, f"{aliases.runtime}.Any")
                )
            ),
            f"await {aliases.runtime}.arun" if block.scope.is_async else f"{aliases.runtime}.run",
            tuple(_arguments(block, outputs, path, project)),
            tuple(_arms(block, aliases)),
        )


def _key(block: NaturalBlock, name: str) -> tuple[Scope, str]:
    return block.scope, mangled(name, block.scope.mangler)


def _needs_declaration(scope: Scope, stored: str, outputs: Outputs) -> bool:
    """Whether nothing but a declaration would let Python know that the name is bound in this scope."""
    bindings = scope.bindings
    if stored in bindings.bound | bindings.globals | bindings.nonlocals:
        return False
    if scope.kind == "class" and scope.parent is not None:
        # A class looks for its own names in its namespace; it must not find a function's instead.
        around = home_of(stored, scope.parent, outputs)
        return stored in bindings.type_parameters or not isinstance(around, Global)
    return scope.is_function


def _declaration(name: str, scope: Scope, type_: str) -> tuple[str, ...]:
    """Make a name the scope's own without binding it; an annotation in a class would be a field of it."""
    return (f"for {name} in ():", "    pass") if scope.kind == "class" else (f"{name}: {type_}",)


def _declared_types(blocks: Sequence[NaturalBlock]) -> dict[tuple[Scope, str], str]:
    types: dict[tuple[Scope, str], str] = {}
    for block in blocks:
        for each in block.references:
            if each.writes and each.type and not each.dotted:
                types.setdefault(_key(block, each.path), each.type)
    return types


def _arguments(
    block: NaturalBlock, outputs: Outputs, path: str, project: Options
) -> Iterator[Argument]:
    """List the arguments of the call after the prompt, in their fixed order."""
    scope = block.scope
    own = [name for name in block.names if scope.kind == "class" and _is_own(name, scope, outputs)]
    me = first_parameter(block, outputs)
    shared = [name for name in block.names if name not in own]
    shared += [name for name in ("__class__", me) if me and name and name not in shared]
    yield Argument("lambda: (", tuple(shared), ")")
    if block.writes:
        yield _text("writes", block.writes)
    if types := _types(block, outputs):
        yield types
    if labels := offered(block):
        yield _text("labels", labels)
    if scope.mangler is not None and (me or _has_private_name(block.literal)):
        yield _text("cls", [scope.mangler])
    if me:
        yield _text("me", [me])
    if scope.kind == "class":
        locals_ = (
            "locals()"
            if _is_builtin("locals", scope, outputs)
            else '__import__("builtins").locals()'
        )
        yield Argument(f"ns={locals_}")
        if own:
            yield _text("own", own)
        stored = [(name, mangled(name, scope.mangler)) for name in block.names]
        if declared := [name for name, key in stored if key in scope.bindings.nonlocals]:
            yield _text("nl", declared)
    yield _text("at", [f"{path}:{block.line}"])
    for name, value in set_options(block.options):
        yield Argument(f"{name}={quoted(value)}")
    if settings := [f'"{name}": {quoted(value)}' for name, value in set_options(project)]:
        yield Argument("project={", tuple(settings), "}")


def _text(name: str, words: Iterable[str]) -> Argument:
    return Argument(f"{name}={quoted(' '.join(words))}")


def quoted(value: object) -> str:
    """Spell a literal value; a string in double quotes, unless that would cost an escape."""
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def set_options(options: Options) -> list[tuple[str, object]]:
    """The options that are given and that matter when the block runs, in the order in which they are written."""
    given = ((name, getattr(options, name)) for name in NAMES if name not in _AT_BUILD)
    return [(name, value) for name, value in given if value is not None]


_AT_BUILD = ("mode", "fallback")


def _is_own(name: str, scope: Scope, outputs: Outputs) -> bool:
    return home_of(name, scope, outputs) == Local(scope)


def _is_builtin(name: str, scope: Scope, outputs: Outputs) -> bool:
    home = home_of(name, scope, outputs)
    return isinstance(home, Global) and not home.known


def first_parameter(block: NaturalBlock, outputs: Outputs) -> str | None:
    """The parameter that `super()` would take, where the block refers to `super` in a method."""
    scope = block.scope
    if "super" not in block.names or not scope.is_function or scope.mangler is None:
        return None
    if not _is_builtin("super", scope, outputs):
        return None
    assert isinstance(scope.node, Definition)
    positional = [*scope.node.args.posonlyargs, *scope.node.args.args]
    return positional[0].arg if positional else None


def _has_private_name(literal: str) -> bool:
    words = re.findall(r"(?<!\w)__\w+", literal) if "__" in literal else []
    return any(not word.endswith("__") for word in words)


def offered(block: NaturalBlock) -> list[str]:
    """The labels that the block may use beyond raise, in fixed order, as the runtime names them."""
    legal = [label for label in block.labels if label not in block.exits_finally]
    offered: list[str] = [label for label in legal if label in ("break", "continue")]
    if "return" in legal:
        offered.append("return" if "return_value" in legal else "bare_return")
    return offered


def _arms(block: NaturalBlock, aliases: Aliases) -> Iterator[tuple[str, str]]:
    """Pair each offered label with what is caught and the statement that carries it out."""
    runtime, returned = aliases.runtime, aliases.returned
    for label in offered(block):
        match label:
            case "break":
                yield f"{runtime}.Break", "break"
            case "continue":
                yield f"{runtime}.Continue", "continue"
            case "return":
                yield f"{runtime}.Return as {returned}", f"return {returned}.value"
            case "bare_return":
                yield f"{runtime}.Return", "return"


def _types(block: NaturalBlock, outputs: Outputs) -> Argument | None:
    """Spell the types of the outputs, from the prompt or from an annotation in scope."""
    scope = block.scope
    said: dict[str, str] = {}
    for each in block.references:
        if each.writes and each.type:
            said.setdefault(each.path, each.type)
    for path in block.binds:
        if path not in said and (annotation := _annotation(path, scope, outputs)) is not None:
            said[path] = spelled(annotation)
    if not said:
        return None
    items = tuple(f"{quoted(path)}: {said[path]}" for path in block.writes if path in said)
    names = [name for text in said.values() for name in _names_in(parsed_type(text))]
    own = [
        f"{name}={name}"
        for name in dict.fromkeys(names)
        if scope.kind == "class" and _is_own(name, scope, outputs)
    ]
    # A lambda in a class body does not see the names of the class, so it takes them as defaults.
    opening = f"types=lambda {', '.join(own)}: {{" if own else "types=lambda: {"
    return Argument(opening, items, "}")


def _annotation(name: str, scope: Scope, outputs: Outputs) -> ast.expr | None:
    """Find the annotation of a variable, if its names mean the same at the block as where it stands."""
    home = home_of(name, scope, outputs)
    if isinstance(home, TypeParameter):
        return None
    stored, bindings = mangled(name, scope.mangler), home.scope.bindings
    annotation = bindings.annotations.get(stored) or bindings.parameters.get(stored)
    annotation = _content(annotation) if annotation else None
    if annotation is None or not is_type(annotation):
        return None
    of_parameter = stored not in bindings.annotations
    for each in _names_in(annotation):
        there = (
            _home_in_signature(each, home.scope, outputs)
            if of_parameter
            else home_of(each, home.scope, outputs)
        )
        if there != home_of(each, scope, outputs):
            return None
    return annotation


def _home_in_signature(name: str, scope: Scope, outputs: Outputs) -> Home:
    """Say where Python looks for a name in a function's parameter list."""
    if name in scope.bindings.type_parameters or scope.parent is None:
        return TypeParameter(scope)
    return home_of(name, scope.parent, outputs)


def _content(annotation: ast.expr) -> ast.expr | None:
    """The type inside `Final[...]`, `ClassVar[...]` and quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return parsed_type(annotation.value)
    named = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = getattr(named, "attr", getattr(named, "id", None))
    if name in ("Final", "ClassVar", "InitVar", "TypeAlias"):
        return annotation.slice if isinstance(annotation, ast.Subscript) else None
    return annotation


def _names_in(annotation: ast.expr | None) -> list[str]:
    nodes = ast.walk(annotation) if annotation is not None else ()
    return [node.id for node in nodes if isinstance(node, ast.Name)]
