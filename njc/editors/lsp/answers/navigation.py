"""The bindings and all uses of a name, in the program and in its prompts.

Put <ticket> ...        definition      the `ticket` of `for ticket in tickets`
                        references      the definition, `print(ticket)`, `<ticket>` in the prompts
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import Literal

from njc.compiler.analysis.types import ClassDefinition
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import FunctionDefinition, NameScope
from njc.compiler.frontend.occurrences import Occurrence
from njc.editors.lsp.texts.documents import Document, Reading
from njrt.data.records import record

NameKind = Literal[
    "variable", "parameter", "function", "class", "module", "field", "method", "output"
]


@record
class VisibleName:
    """A name with its type, if known, and the lines that bind it."""

    name: str
    kind: NameKind
    type: str = ""
    lines: tuple[int, ...] = ()


def list_names_at(reading: Reading, block: NaturalBlock) -> list[VisibleName]:
    """Return the names that a block could refer to, nearest scope first, without Python's own."""
    names = block.scope.list_visible_names(reading.outputs)
    return [describe_name(reading, block.scope, name) for name in names if not _is_private(name)]


def _is_private(name: str) -> bool:
    """Return whether a name is stored differently than written, as `__x` in a class is."""
    return name.startswith("_") and "__" in name[1:] and not name.startswith("__")


def describe_name(reading: Reading, scope: NameScope, name: str) -> VisibleName:
    """Return a name as `scope` sees it."""
    home = reading.types.find_home(name, scope)
    nodes = list(_list_bindings(reading, home, name)) if home is not None else []
    outputs = {
        reading.module.source.place(tag.start)[0]
        for block in reading.types.blocks_by_scope.get(home, ())
        for tag in block.references
        if tag.writes and tag.path == name
    }
    lines = tuple(sorted({node.lineno for node in nodes} | outputs))
    kind = _find_kind(nodes[0]) if nodes else "output" if lines else "variable"
    types = reading.types
    typed = types.infer(ast.Name(name, ast.Load()), scope) or types.output_type(name, scope)
    return VisibleName(name, kind, str(typed) if typed is not None else "", lines)


def _list_bindings(reading: Reading, home: NameScope, name: str) -> Iterator[ast.arg | ast.stmt]:
    """Yield the parameter and the statements that bind a name in its scope."""
    if isinstance(home.node, FunctionDefinition):
        arguments = home.node.args
        rest = (arguments.vararg, arguments.kwarg)
        named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest)
        yield from (argument for argument in named if argument and argument.arg == name)
    yield from reading.types.find_statements_binding(name, home)


def _find_kind(node: ast.arg | ast.stmt) -> NameKind:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return "function"
        case ast.ClassDef():
            return "class"
        case ast.Import() | ast.ImportFrom():
            return "module"
        case ast.arg():
            return "parameter"
    return "variable"


def find_class_of_path(
    reading: Reading, block: NaturalBlock, path: Sequence[str]
) -> ClassDefinition | None:
    """Return the class of a dotted path's value, if it is defined in this file."""
    types = reading.types
    root, *attributes = path
    typed = types.infer(ast.Name(root, ast.Load()), block.scope)
    typed = typed or types.output_type(root, block.scope)
    for attribute in attributes:
        typed = types.find_field_type(typed, attribute) if typed is not None else None
    return types.class_of_type(types.expand(typed)) if typed is not None else None


def list_members(reading: Reading, block: NaturalBlock, path: str) -> Iterator[VisibleName]:
    """Yield the fields and methods of a dotted path's value, if its class is in this file."""
    found = find_class_of_path(reading, block, path.split("."))
    if found is None:
        return
    for name, field in reading.types.map_fields(found).items():
        yield VisibleName(name, "field", str(field))
    for statement in found[0].body:
        match statement:
            case (
                ast.FunctionDef(name=name, returns=returns)
                | ast.AsyncFunctionDef(name=name, returns=returns)
            ) if not name.startswith("_"):
                result = ast.unparse(returns) if returns else ""
                yield VisibleName(name, "method", result, (statement.lineno,))


def list_variables(reading: Reading, block: NaturalBlock) -> Iterator[VisibleName]:
    """Yield names that may be an output's type: the file's classes and imports, Python's types."""
    for visible in list_names_at(reading, block):
        if visible.kind in ("class", "module"):
            yield visible
    for name in dir(builtins):
        value = getattr(builtins, name)
        if isinstance(value, type) and not issubclass(value, BaseException) and name.islower():
            yield VisibleName(name, "class")


Span = tuple[int, int]


def find_definitions(document: Document, offset: int) -> list[Span]:
    """Return the bindings of the name at an offset; for a prompt's field, its place in a class."""
    reading, places = document.read_at(offset), find_references(document, offset)
    if not places:
        return _find_field(reading, offset) if reading is not None else []
    bindings = [it for it in places if it.binds]
    declared = [it for it in bindings if it.role in ("define", "import", "parameter")]
    in_program = [it for it in bindings if not it.in_prompt]
    chosen = declared or in_program[:1] or bindings[:1]
    return [(it.start, it.end) for it in chosen]


def find_references(
    document: Document, offset: int, *, includes_bindings: bool = True
) -> list[Occurrence]:
    """Return all occurrences of the variable at an offset."""
    reading = document.read_at(offset)
    occurrence = reading.find_name(offset) if reading is not None else None
    if reading is None or occurrence is None:
        return []
    return [it for it in reading.list_uses(occurrence) if includes_bindings or not it.binds]


def _find_field(reading: Reading, offset: int) -> list[Span]:
    """Return the place of the field or method that an attribute path in a prompt leads to."""
    block = reading.find_block(offset)
    source = reading.module.source
    for reference in block.references if block is not None else ():
        if not reference.start <= offset < reference.end or not reference.is_dotted:
            continue
        assert block is not None, "the reference is one of it"
        start = reference.start + 1 + reference.writes
        parts = source.text[start:offset].count(".")
        names = reference.path.split(".")
        if 0 < parts < len(names) and (found := find_class_of_path(reading, block, names[:parts])):
            return _find_member(reading, found[0], names[parts])
    return []


def _find_member(reading: Reading, definition: ast.ClassDef, name: str) -> list[Span]:
    source = reading.module.source
    for node in ast.walk(definition):
        match node:
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) if found == name:
                start = source.get_offset(node.lineno, node.col_offset)
                start = source.text.index(name, start)
                return [(start, start + len(name))]
            case ast.AnnAssign(target=ast.Name(id=found) as target) if found == name:
                start = source.get_offset(target.lineno, target.col_offset)
                return [(start, start + len(name))]
            case ast.Attribute(ast.Name("self"), found, ast.Store()) if found == name:
                end = source.get_offset(node.end_lineno or 0, node.end_col_offset or 0)
                return [(end - len(name), end)]
    return []
