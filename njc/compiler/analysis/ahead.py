"""Loops that ask ahead: whether the next iterations would send what is sent ahead for them.

    for mail in mails:
        '''natural(ahead=8)
        Name the <:topic: str> of <mail>, other than <last>.     NJ309  the loop assigns `last`
        '''
        last = topic

The runtime compares each request with the one that was sent, so what is not found here costs money
and changes no result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from njc.compiler.analysis.authority import Authority
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.reviewed_mode import answers_with_data
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.source import SourceFile
from njrt.data.options import Options, merge_option_layers


def find_ahead_findings(
    source: SourceFile,
    blocks: Sequence[NaturalBlock],
    authorities: Sequence[Authority],
    types: TypeReader,
    project: Options,
    hints: bool = False,
) -> Iterator[Diagnostic]:
    """Report the blocks with `ahead` whose loops cannot ask ahead; as `hints`, loops that could."""
    loops = [block.loop for block in blocks if block.ahead is not None]
    for block, authority in zip(blocks, authorities, strict=True):
        options, loop = merge_option_layers(block.options, project), block.loop
        if hints == (block.ahead is not None):
            continue
        if hints and (loop is None or loop in loops or options.mode == "static"):
            continue
        if hints and loop is not None and not _is_collection(loop.iter, block, types):
            continue
        problem = next(_find_problems(block, blocks, types), None)
        if problem is None and not answers_with_data(authority, options):
            reason = f"the block does not answer with data: {authority.reason}"
            problem = reason, authority.remedy or "leave out `ahead`"
        if problem is not None and not hints:
            message, hint = problem
            yield make_diagnostic(source, "NJ309", *block.head, f"`ahead`: {message}", hint)
        if problem is None and hints:
            loops.append(loop)
            message = "the loop waits for each reply before it sends the next request"
            yield make_diagnostic(source, "NJ310", *block.head, message, "write `natural(ahead=8)`")


def _is_collection(items: ast.expr, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether what a loop goes through is known, by its type, to be there at its start."""
    if isinstance(items, ast.Call) and ast.unparse(items.func) in ("enumerate", "zip"):
        return all(_is_collection(part, block, types) for part in items.args)
    found = types.infer(items, block.scope)
    return found is not None and types.name_of(types.expand(found)) in _COLLECTIONS


_COLLECTIONS = ("list", "tuple", "dict", "collections.abc.Sequence", "collections.abc.Mapping")


def list_targets(loop: ast.For) -> list[str]:
    """Return a loop's variables if they are a name or several; an empty list otherwise."""
    target = loop.target
    elements = target.elts if isinstance(target, ast.Tuple) and target.elts[1:] else [target]
    names = [each.id for each in elements if isinstance(each, ast.Name)]
    return names if len(names) == len(elements) else []


def _find_problems(
    block: NaturalBlock, blocks: Sequence[NaturalBlock], types: TypeReader
) -> Iterator[tuple[str, str]]:
    """Yield why a block cannot ask ahead where it is, or which input may change, and a way out."""
    if (loop := block.loop) is None:
        yield "the block is not directly in a `for` loop", "move it into the loop's own suite"
        return
    if block.scope.kind == "class":
        yield "the loop is in the body of a class", "move the loop into a function"
    if not list_targets(loop):
        way = "name each part: `for number, mail in enumerate(mails):`"
        yield "the loop's variables are neither a name nor several names", way
    if block.is_fstring:
        yield "the text of an f-string is not known ahead", "refer to the values: `<name>`"
    for other in blocks:
        if other.ahead is not None and other.loop is loop and other is not block:
            message = f"the block in line {other.line} asks ahead for the same loop"
            yield message, "let one of them ask ahead"
    lines = range(loop.body[0].lineno, (loop.end_lineno or loop.lineno) + 1)
    bound = {path for each in types.blocks if each.line in lines for path in each.writes}
    used = set[str]()
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        if isinstance(node, ast.Name | ast.Attribute):
            (used if isinstance(node.ctx, ast.Load) else bound).add(ast.unparse(node))
    for path in block.reads:
        root = path.partition(".")[0]
        typed = types.read_type(path, block)[0]
        is_fixed = root in list_targets(loop) or (typed is not None and types.is_read_only(typed))
        if not {root, path}.isdisjoint(bound):
            way = "assign it behind the loop, or compute the values before it"
            yield f"the loop assigns `{path}`", way
        if not (is_fixed or {root, path}.isdisjoint(used)):
            way = f"annotate `{root}` with a type that cannot be changed, or use it elsewhere"
            yield f"the loop may change `{path}`", way
