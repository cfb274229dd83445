"""Where a name is bound, and everywhere that it stands, in the program and in its prompts.

Put <ticket> ...        definition      the `ticket` of `for ticket in tickets`
                        references      that one, `print(ticket)`, `<ticket>` in the prompts
"""

from __future__ import annotations

import ast

from njc.editors.language_server.answers.visible_names import find_class_of_path
from njc.editors.language_server.texts.documents import Document, Reading
from njc.editors.language_server.texts.name_index import Occurrence

Span = tuple[int, int]
"""The start and the end of a part of the text."""


def find_definitions(document: Document, offset: int) -> list[Span]:
    """Return the places that bind the name at an offset; of a field in a prompt, the place in its class."""
    reading = document.read_at(offset)
    if reading is None:
        return []
    occurrence = reading.names.find_at(offset)
    if occurrence is None:
        return _find_field(reading, offset)
    places = reading.names.variables.get(reading.names.resolve(occurrence), ())
    bindings = [it for it in places if it.role not in ("read", "declare")]
    declared = [it for it in bindings if it.role in ("define", "import", "parameter")]
    in_program = [it for it in bindings if not it.in_prompt]
    chosen = declared or in_program[:1] or bindings[:1]
    return [(it.start, it.end) for it in chosen]


def find_references(
    document: Document, offset: int, *, includes_bindings: bool = True
) -> list[Occurrence]:
    """Every place where the variable at an offset stands."""
    reading = document.read_at(offset)
    occurrence = reading.names.find_at(offset) if reading is not None else None
    if reading is None or occurrence is None:
        return []
    places = reading.names.variables.get(reading.names.resolve(occurrence), ())
    return [it for it in places if includes_bindings or it.role in ("read", "declare")]


def _find_field(reading: Reading, offset: int) -> list[Span]:
    """Return the place of the field or method that an attribute path of a prompt leads to."""
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
            case ast.Attribute(value=ast.Name(id="self"), attr=found, ctx=ast.Store()) if (
                found == name
            ):
                end = source.get_offset(node.end_lineno or 0, node.end_col_offset or 0)
                return [(end - len(name), end)]
    return []
