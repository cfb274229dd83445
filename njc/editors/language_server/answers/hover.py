"""Hover texts, in Markdown, for the name or the block at a place.

<ticket>            `ticket: str`, a parameter, line 3; its text in the first message to the model
'''natural          the block's reads, outputs and authority, as in `njc show`
"""

from __future__ import annotations
import __future__

import ast
import builtins
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from typing import Any

from njc.analysis.authority import decide_authority
from njc.analysis.class_members import is_dataclass
from njc.editors.language_server.answers.navigation import describe_name
from njc.editors.language_server.texts.documents import Document, Reading
from njc.editors.language_server.texts.name_index import Occurrence, Variable
from njc.frontend.blocks import NaturalBlock
from njc.frontend.markers import match_opening
from njrt.options import DEFAULTS, OPTION_NAMES, merge_option_layers
from njrt.records import record
from njrt.rendering.describe import describe_variable
from njrt.rendering.one_line import write_brief


@record
class HoverText:
    """A text in Markdown about the part of the program between two offsets."""

    start: int
    end: int
    markdown: str


def describe_place(document: Document, offset: int) -> HoverText | None:
    """Describe the name, or the natural block, at an offset."""
    reading = document.read_at(offset)
    if reading is None:
        return None
    block = reading.find_block(offset)
    occurrence = reading.names.find_at(offset)
    if occurrence is not None:
        paragraphs = list(_describe_occurrence(document, reading, occurrence, block))
        if paragraphs:
            return HoverText(occurrence.start, occurrence.end, "\n\n".join(paragraphs))
    if block is not None:
        opened = match_opening(block.literal)
        if opened is not None and offset < block.start + opened.end():
            end = block.start + len(opened[0].rstrip())
            return HoverText(block.start, end, describe_authority(document, reading, block))
    return None


def _describe_occurrence(
    document: Document, reading: Reading, occurrence: Occurrence, block: NaturalBlock | None
) -> Iterator[str]:
    variable = reading.names.resolve(occurrence)
    if variable.is_builtin and not occurrence.in_prompt:
        return
    written = reading.module.source.text[occurrence.start : occurrence.end]
    scope = block.scope if block is not None else None
    visible = scope and describe_name(reading, scope, written)
    typed = f"{written}: {visible.type}" if visible and visible.type else written
    yield f"```python\n{typed}\n```"
    yield describe_variable_use(reading, variable)
    if occurrence.in_prompt and block is not None:
        shown = _show_to_model(document, reading, variable, block, written, typed)
        yield f"The model is shown:\n```text\n{shown}\n```"
        yield describe_authority(document, reading, block)


def describe_variable_use(reading: Reading, variable: Variable) -> str:
    """Return a variable's kind and scope, and the lines and blocks that bind and read it."""
    if variable.is_builtin:
        return "not bound in this file: a builtin of Python, or undefined"
    place = reading.module.source.place
    found = reading.names.variables.get(variable, ())
    scope = variable.scope
    home = f"of the {scope.kind} `{scope.name}`" if scope.name else f"of the {scope.kind}"
    kinds = {"parameter": "parameter", "import": "import", "define": "definition"}
    kind = next((kinds[it.role] for it in found if it.role in kinds), "variable")
    rows = [f"{kind} {home}"]
    for title, chosen in (
        ("bound in", [it for it in found if it.binds]),
        ("read by blocks in", [it for it in found if it.role == "read" and it.in_prompt]),
    ):
        lines = list(dict.fromkeys(str(place(occurrence.start)[0]) for occurrence in chosen))
        if lines:
            shown = ", ".join(lines[:_MOST_LINES]) + (", ..." if lines[_MOST_LINES:] else "")
            rows.append(f"{title} {'line' if len(lines) == 1 else 'lines'} {shown}")
    return "; ".join(rows)


_MOST_LINES = 8


def _show_to_model(
    document: Document,
    reading: Reading,
    variable: Variable,
    block: NaturalBlock,
    name: str,
    typed: str,
) -> str:
    """Return the line about a variable in the first message to the model, if it is known before a run."""
    if name in block.binds:
        return f"{typed}, to be bound"
    options = merge_option_layers(block.options, document.options, DEFAULTS)
    budget = options.show_chars or 0
    try:
        value = make_stand_in(_find_only_binding(reading, variable))
        return describe_variable(name, value, budget)
    except NoStandIn:
        return f"{typed} = (its value, in at most {budget:,} characters)"


def _find_only_binding(reading: Reading, variable: Variable) -> ast.AST | None:
    """Return the only statement that binds a variable; None if there are several."""
    found = reading.names.variables.get(variable, ())
    bindings = [it for it in found if it.binds]
    if len(bindings) != 1 or bindings[0].in_prompt:
        return None
    if bindings[0].node is not None:
        return bindings[0].node
    line = reading.module.source.place(bindings[0].start)[0]
    home = variable.scope.node
    for statement in home.body if isinstance(home, ast.Module) else ():
        match statement:
            case ast.Assign(targets=[ast.Name()]) | ast.AnnAssign(target=ast.Name()):
                if statement.lineno == line:
                    return statement
    return None


# ── authority ────────────────────────────────────────────────────────────────────────────────────


def describe_authority(document: Document, reading: Reading, block: NaturalBlock) -> str:
    """Return a block's reads, outputs and authority, in rows."""
    authority = decide_authority(block, reading.types, document.options)
    options = merge_option_layers(block.options, document.options)
    effects = authority.effects or options.effects or ""
    rows = {
        "reads": ", ".join(f"`{path}`" for path in block.reads),
        "binds": ", ".join(f"`{path}`" for path in block.writes),
        "effects": f"`{effects}`: {EFFECT_MEANINGS[effects]}",
        "because": authority.reason,
        "to do without code": authority.remedy,
        "jumps": ", ".join(f"`{_JUMP_NAMES.get(label, label)}`" for label in authority.labels),
        "options": ", ".join(
            f"`{name}={write_brief(value, 60)}`"
            for name in OPTION_NAMES
            if (value := getattr(block.options, name)) is not None
        ),
    }
    return "\n".join(f"- {name}: {text}" for name, text in rows.items() if text)


EFFECT_MEANINGS = {
    "answer": "the model answers with data, and runs no code",
    "direct": "the model may run Python on the variables",
    "interface": "the model may request the effects of an interface",
}
_JUMP_NAMES = {"bare_return": "return"}


StandIn = Any
"""A value of the same form as a value in the program."""

_ENUMERATIONS = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}


class NoStandIn(Exception):
    """The value cannot be known before the program runs."""


def make_stand_in(statement: ast.AST | None) -> StandIn:
    """Make a value like the one that a statement assigns to its name; raises NoStandIn if it is unknown."""
    match statement:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            with suppress(ValueError, TypeError, MemoryError, RecursionError):
                return ast.literal_eval(value)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _execute(_keep_signature(statement))
        case ast.ClassDef():
            return _execute(_keep_fields(statement))
    raise NoStandIn


def _execute(statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> StandIn:
    import dataclasses
    import enum

    tree = ast.fix_missing_locations(ast.Module([statement], []))
    names = {it: getattr(enum, it, enum.Enum) for it in _ENUMERATIONS}
    namespace = {"__name__": "__main__", "dataclass": dataclasses.dataclass, **names}
    try:
        code = compile(
            tree, "<stand-in>", "exec", __future__.annotations.compiler_flag, dont_inherit=True
        )
        exec(code, namespace)
    except Exception as error:  # for example, dataclass fields with defaults before others
        raise NoStandIn from error
    return namespace[statement.name]


def _keep_signature(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Return a function with the same signature that does nothing."""
    arguments, kept = copy(function.args), copy(function)
    arguments.defaults = [_keep_literal(default) for default in arguments.defaults]
    arguments.kw_defaults = [
        _keep_literal(default) if default else None for default in arguments.kw_defaults
    ]
    kept.args, kept.body = arguments, [_make_docstring(function), ast.Pass()]
    kept.decorator_list = [
        decorator
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Name)
        and decorator.id in ("property", "staticmethod", "classmethod")
    ]
    if hasattr(kept, "type_params"):
        kept.type_params = []
    return kept


def _keep_fields(definition: ast.ClassDef) -> ast.ClassDef:
    """Return a class with the same fields, constants and methods, but with empty bodies."""
    kept = copy(definition)
    kept.bases, kept.keywords = [], []
    for base in definition.bases:
        name = base.id if isinstance(base, ast.Name) else ""
        if name in _ENUMERATIONS or isinstance(getattr(builtins, name, None), type):
            kept.bases.append(base)
    kept.body = [_make_docstring(definition)]
    for statement in definition.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                kept.body.append(_keep_signature(statement))
            case ast.AnnAssign(target=ast.Name() as target, annotation=annotation, value=value):
                literal = _keep_literal(value) if value else None
                kept.body.append(ast.AnnAssign(target, annotation, literal, 1))
            case ast.Assign(targets=[ast.Name()] as targets, value=value):
                kept.body.append(ast.Assign(targets, _keep_literal(value)))
    kept.decorator_list = [ast.Name("dataclass", ast.Load())] * is_dataclass(definition)
    if hasattr(kept, "type_params"):
        kept.type_params = []
    return kept


def _keep_literal(value: ast.expr) -> ast.expr:
    """Return a literal unchanged, and `...` for any other expression."""
    with suppress(ValueError, TypeError, MemoryError, RecursionError):
        ast.literal_eval(value)
        return value
    return ast.Constant(...)


def _make_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.stmt:
    return ast.Expr(ast.Constant(ast.get_docstring(node)))
