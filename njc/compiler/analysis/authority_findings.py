"""Findings about a block's authority: it can do nothing, or less than its text asks for.

Summarize <text>.                                       NJ211  the block can do nothing
Skip <mail> if it is spam, or note its <:topic: str>.   NJ303  `skip` may mean an unnamed jump
Increase <count>. Put a text into <:note: str>.         NJ305  `count` is only read
Never return.                                           NJ306  `return` is not offered
Double x, and return it.                                NJ217  `x` is plain text
Put the date of <text> into <:date: date>.              NJ215  the output hides its type
Put the sum of <rows> into <:total: float>.             NJ304  it may change `rows: list[int]`
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterable, Iterator

from njc.compiler.analysis.annotations import find_hidden_names, unquote_inside
from njc.compiler.analysis.authority import ANSWER_REMEDY, Authority
from njc.compiler.analysis.check import suggest_name
from njc.compiler.analysis.containment import find_uncontained
from njc.compiler.analysis.control_words import (
    CLAUSE_START,
    find_implied_jumps,
    find_negated_jumps,
    list_named_jumps,
    names_raise,
)
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.types import SCALARS, Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import is_defined
from njc.compiler.frontend.prompt_references import Reference, list_variables, parse_type
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options, merge_option_layers


def find_block_findings(
    source: SourceFile,
    block: NaturalBlock,
    authority: Authority,
    types: TypeReader,
    project: Options,
) -> Iterator[Diagnostic]:
    """Report requests that a block cannot fulfil, and jumps that a text forbids or only implies."""
    if (named := block.interface) is not None:
        kind = types.find_definition(named.root, block.scope)
        if named.path == named.root and kind in ("function", "class"):
            message = f"`{named.path}` is a {kind}, and no njrt.Interface"
            yield make_diagnostic(source, "NJ104", named.start, named.end, message)
        return
    options = merge_option_layers(block.options, project)
    yield from _check_effect(source, authority, types)
    yield from _check_changes(source, authority, types)
    yield from _check_undefined_types(source, block, authority.labels, types)
    is_contained = options.policy == "contained"
    found = find_uncontained(block, types, source.path, options) if is_contained else None
    if found is not None and found.is_impossible:
        yield make_diagnostic(source, "NJ214", *block.head, found.reason, found.remedy)
    if options.jumps != "all":
        yield from _check_jumps(source, block)


def _check_jumps(source: SourceFile, block: NaturalBlock) -> Iterator[Diagnostic]:
    """Report the jumps that a text forbids, and words that may mean a jump without naming it."""
    start = block.end - 3 - len(block.prompt)
    legal = frozenset(block.labels) - frozenset(block.labels_exiting_finally)
    named = list_named_jumps(block)
    for place, label in find_negated_jumps(block):
        if label in legal:
            message = f"`{block.prompt[place]}` is negated, so the block is not offered the jump"
            hint = 'state when to jump, or write `jumps="all"` on the block'
            at = (start + place.start, start + place.stop)
            yield make_diagnostic(source, "NJ306", *at, message, hint)
    for place, label in find_implied_jumps(block):
        wanted = ("break", "return") if label == "break" else (label,)
        names = [name for name in wanted if name in legal]
        if not names and "return" in legal:
            names = ["return"]
        if names and label not in named and set(names).isdisjoint(named):
            choice = " or ".join(f"`{name}`" for name in names)
            message = f"`{block.prompt[place]}` may mean a jump that the text does not name"
            at = (start + place.start, start + place.stop)
            yield make_diagnostic(source, "NJ303", *at, message, f"write {choice} if it does")


_CHANGES = re.compile(
    CLAUSE_START
    + r"(?P<verb>change|clear|decrease|decrement|double|edit|empty|extend|fill|halve|increase"
    r"|increment|mark|modify|overwrite|rename|reset|reverse|rewrite|set|shuffle|sort|toggle"
    r"|truncate|update)\s+(?:the\s+)?(?=(?P<object>\x01+))(?![^.;!?]*\x02)",
    re.IGNORECASE,
)
"""A verb that changes its object, before an input ("\\x01"), and no output ("\\x02") after it."""


def _check_changes(
    source: SourceFile, authority: Authority, types: TypeReader
) -> Iterator[Diagnostic]:
    """Report requests to change an input with a value that cannot be changed."""
    block = authority.block
    shift = block.end - 3 - len(block.words)
    references = {each.start - shift: each for each in block.references if not each.writes}
    for found in _CHANGES.finditer(block.marked_words):
        path = references[found.start("object")].path
        typed = types.read_type(path, block)[0]
        can_set = "." in path and authority.effects != "answer"
        if typed is None or can_set or path in block.writes or types.find_changeable(typed):
            continue
        names = {types.name_of(part) for part in types.union_parts(types.expand(typed))}
        is_bound = "." in path or names <= SCALARS | {"typing.Literal"}
        message = f"the text asks to {found['verb'].lower()} `{path}: {typed}`, which it only reads"
        hint = f"annotate `{path}` with a type that can be changed, or name an output"
        if is_bound:
            hint = f"to bind it, write `<:{path}>`; for a new value, name an output"
        at = (shift + found.start("verb"), shift + found.end("verb"))
        yield make_diagnostic(source, "NJ305", *at, message, hint)


def _check_effect(
    source: SourceFile, authority: Authority, types: TypeReader
) -> Iterator[Diagnostic]:
    """Report a block that seems to have no effect."""
    block = authority.block
    if (found := _find_bare_name(block, types)) is not None:
        name, at = found
        message = f"`{name}` is a variable, but the text reads no variable: `{name}` is plain text"
        yield make_diagnostic(source, "NJ217", *at, message, f"write `<{name}>`")
        return
    if block.is_fstring or block.writes or authority.labels:
        return
    if not (_names_act(block) or any(not each.is_missing for each in authority.obstacles)):
        message = (
            "the block can do nothing: it has no output, no jump, and nothing that it could change"
        )
        hint = (
            "name an output, such as `<:result: str>`, a variable to change, a function to call, "
            "or a jump; to show text or to raise an exception, write `print` or `raise`"
        )
        yield make_diagnostic(source, "NJ211", *block.head, message, hint)


def _names_act(block: NaturalBlock) -> bool:
    """Return whether a text has the name of an act that needs no variable: `print` or `raise`."""
    return names_raise(block) or _PRINT.search(block.words_without_references) is not None


_PRINT = re.compile(r"\bprint(?:s|ed|ing)?\b", re.IGNORECASE)
_NAME_ALONE = re.compile(r"(?<![\w.<{\"\-])\w+(?![\w>}\"\-])")


def _find_bare_name(block: NaturalBlock, types: TypeReader) -> tuple[str, tuple[int, int]] | None:
    """Return the first variable that a text names without reading any, and its offsets."""
    if any(not each.writes for each in block.references) or block.is_fstring:
        return None
    start = block.end - 3 - len(block.prompt)
    for found in _NAME_ALONE.finditer(block.prompt):
        name, at = unicodedata.normalize("NFKC", found[0]), start + found.start()
        if name == "a" or any(each.start <= at < each.end for each in block.references):
            continue  # "a" is an English word
        if name not in block.writes and _is_variable_before(name, block, types):
            return name, (at, start + found.end())
    return None


def _is_variable_before(name: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether a name is a variable, not a function or the like, bound before the block."""
    scope = block.scope
    if name in scope.bindings.parameters or name in types.outputs.get(scope, ()):
        return True
    statements = types.find_statements_binding(name, scope)
    if types.find_definition(name, scope) is not None:
        return False
    return any(
        statement.lineno < block.line and not isinstance(statement, ast.Import | ast.ImportFrom)
        for statement in statements
    )


def _check_undefined_types(
    source: SourceFile, block: NaturalBlock, labels: Iterable[str], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report unbound names in quoted types and in annotations: such a type checks no value."""
    found: list[tuple[str, Typed, tuple[int, int]]] = []
    for output in (each for each in block.references if each.writes):
        if typed := _get_written_type(output, block):
            found.append((output.path, typed, (output.start, output.end)))
        elif typed := types.find_annotation(output.path, block.scope):
            found.append((output.path, typed, source.get_span(typed.annotation)))
    returns = getattr(block.scope.node, "returns", None)
    is_generator = block.scope.kind.endswith("generator")  # the annotation is not the value's type
    if "return" in labels and returns is not None and not is_generator:
        typed = Typed(returns, block.scope.signature_scope)
        found.append(("return", typed, source.get_span(returns)))
    for path, typed, at in found:
        names = list_variables(unquote_inside(typed, types))
        is_bound_before = block.scope.is_function or block.frame.in_loop
        if path in names and is_bound_before:
            when = "in the function" if block.scope.is_function else "after the first round"
            message = f"`{path}` is the output and its type: {when}, the type is hidden"
            other = f"give the output another name, such as `<:new_{path}: {typed}>`"
            yield make_diagnostic(source, "NJ215", *at, message, other)
        elif hidden := find_hidden_names(typed, block.scope, types):
            message = (
                f"`{hidden[0]}`, in the type of `{path}`, is another variable in the function: the"
                " type is not used"
            )
            other = f"give the variable `{hidden[0]}` another name"
            yield make_diagnostic(source, "NJ215", *at, message, other)
        for name in names:
            if not is_defined(name, typed.scope, types.outputs):
                message = f"`{name}`, in the type of `{path}`, is not defined here"
                hint = suggest_name(name, block, types.outputs)
                yield make_diagnostic(source, "NJ201", *at, message, hint)


def _get_written_type(output: Reference, block: NaturalBlock) -> Typed | None:
    parsed = parse_type(output.type) if output.type else None
    return Typed(parsed, block.scope) if parsed is not None else None


def find_code_hint(
    source: SourceFile, block: NaturalBlock, authority: Authority
) -> Iterator[Diagnostic]:
    """Report how a block could do without code."""
    marker = _MARKER.match(block.literal) if authority.can_answer else None
    ways = [authority.remedy]
    if marker is not None and ANSWER_REMEDY not in authority.remedy:
        ways.append(ANSWER_REMEDY)
    if hint := "; or ".join(filter(None, ways)):
        end = block.start + (marker.end() if marker is not None else 10)
        message = f"the block has code: {authority.reason}"
        yield make_diagnostic(source, "NJ304", block.start, end, message, hint)


_MARKER = re.compile(r"\w*(?:\"{3}|'{3})(?:natural|prompt)(?=[ \t]*[\r\n])")
