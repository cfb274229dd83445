"""The outputs of blocks that nothing uses, and inputs that only statements below bind.

    '''natural
    Write a <:reply> to <message> and a <:summary>.     NJ204  `summary` is never used
    Send <letter>.                                      NJ205  `letter` is not bound here
    '''
    send(reply)
    letter = ...

Each function (or module) is analysed separately, and only for the variables that natural blocks
bind or read there.

Not detected: uses in a string, by `exec` outside the function, or of an attribute output. NJ204 is
not reported if `locals()` or `eval` could use the variable, NJ205 not in loops. What only some
paths bind is left to type checkers, which read the compiled file.
"""

from __future__ import annotations

import ast
import builtins
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    Local,
    NameScope,
    list_bound_names,
    list_declared,
    resolve_name,
)
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.source import SourceFile
from njc.compiler.frontend.walking import get_line_span, walk_lines
from njrt.data.private_names import mangle

_NAMESPACE_FUNCTIONS = frozenset({"locals", "vars", "eval", "exec", "globals"})


def check_outputs(
    module: Module, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    """Check the outputs and inputs of the blocks in every scope."""
    scopes: dict[NameScope, list[NaturalBlock]] = {}
    for block in blocks:
        scopes.setdefault(block.scope, []).append(block)
    reads = _collect_reads(blocks, outputs)
    for scope, within in scopes.items():
        if scope.is_function:
            yield from _check_unused(module.source, within, reads, outputs)
    yield from check_early_reads(module, scopes)


# Unused outputs.

BlockReads = dict[tuple[NameScope, str], list[NaturalBlock]]
"""The blocks that read each variable, by the variable's scope, in source order."""


def _collect_reads(blocks: Sequence[NaturalBlock], outputs: BlockOutputs) -> BlockReads:
    reads: BlockReads = {}
    for block in blocks:
        for name in dict.fromkeys(tag.root for tag in block.references if tag.needs_value):
            home = resolve_name(name, block.scope, outputs)
            if isinstance(home, Local):
                reads.setdefault((home.scope, name), []).append(block)
    return reads


def _check_unused(
    source: SourceFile, within: Sequence[NaturalBlock], reads: BlockReads, outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    scope = within[0].scope
    waiting = [
        (block, name)
        for block in within
        for name in block.binds
        if not name.startswith("_")
        and resolve_name(name, scope, outputs) is scope.as_home
        and not _is_read_by_block(name, block, reads.get((scope, name), ()))
    ]
    if not waiting:
        return
    last_use = _find_last_uses(source, scope, {name for _, name in waiting} | _NAMESPACE_FUNCTIONS)
    if not _NAMESPACE_FUNCTIONS.isdisjoint(last_use):
        return
    for block, name in waiting:
        if last_use.get(name, 0) > block.line or (name in last_use and block.frame.in_loop):
            continue
        output = next(tag for tag in block.references if tag.writes and tag.path == name)
        message = f"output `{name}` is never used afterwards"
        hint = _suggest_declaration(name, scope) or f"use it, remove it, or call it `_{name}`"
        yield make_diagnostic(source, "NJ204", output.start, output.end, message, hint)


def _suggest_declaration(name: str, scope: NameScope) -> str | None:
    """Suggest a declaration if a variable outside the function has the output's name."""
    outer = _find_hidden(name, scope)
    if outer is None:
        return None
    keyword = "global" if outer.kind == "module" else "nonlocal"
    return f"to bind the variable outside of the function, declare `{keyword} {name}` in it"


def _find_hidden(name: str, scope: NameScope) -> NameScope | None:
    """Find the scope around a function that has a variable with this name."""
    for outer in scope.walk_outwards():
        if outer is not scope and outer.kind != "class" and name in outer.bindings.bound:
            return outer
    return None


def _is_read_by_block(name: str, writer: NaturalBlock, readers: Sequence[NaturalBlock]) -> bool:
    """Return whether a block may read the variable after `writer` binds it."""
    if not readers:
        return False
    if writer.frame.in_loop or any(reader.scope is not writer.scope for reader in readers):
        return True
    if readers[-1].start > writer.start:
        return True
    return writer in readers and _reads_back(name, writer)


def _reads_back(name: str, block: NaturalBlock) -> bool:
    """Return whether a block reads its own output: only blocks bind it or its text has it first."""
    first = next(tag for tag in block.references if tag.root == name)
    stored = mangle(name, block.scope.mangling_class)
    return first.writes or stored not in block.scope.bindings.bound


_ANY_LATER_LINE = 10**9
"""The line of a use in a nested function, which may run at any time."""


def _find_last_uses(source: SourceFile, scope: NameScope, names: Collection[str]) -> dict[str, int]:
    """Return the last line in a scope's code that reads each of the names."""
    uses: dict[str, int] = {}
    lines = _find_lines_with(names, source, scope)
    for node, nested in walk_lines(scope.node, lines):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.AugAssign(target=ast.Name(id=name)):
                uses[name] = max(uses.get(name, 0), _ANY_LATER_LINE if nested else node.lineno)
            case ast.Nonlocal(names=declared) | ast.Global(names=declared):
                uses.update(dict.fromkeys(declared, _ANY_LATER_LINE))
    return uses


def _find_lines_with(names: Collection[str], source: SourceFile, scope: NameScope) -> Sequence[int]:
    first, last = get_line_span(scope.node) or (1, len(source.line_starts))
    if not source.text.isascii():
        return range(first, last + 1)  # a name may be written in more than one way
    found: set[int] = set()
    for name in names:
        lines = source.lines_by_word.get(name, ())
        found.update(lines[bisect_left(lines, first) : bisect_right(lines, last)])
    return sorted(found)


# ── variables that a block reads ──────────────────────────────────────────────────────────────────


def check_early_reads(
    module: Module, scopes: Mapping[NameScope, Sequence[NaturalBlock]]
) -> Iterator[Diagnostic]:
    """Report block inputs that only statements below bind; blocks in loops are left out."""
    may_declare = "global" in module.source.text or "nonlocal" in module.source.text
    declared = list_declared(module.tree)[1] if may_declare else ()
    for scope, within in scopes.items():
        if scope.kind == "class" or scope.bindings.star_import:
            continue
        seen, first = {*declared}, _find_first_bindings(module, scope, within)
        for block in within:
            for reference in () if block.frame.in_loop else block.references:
                name = reference.root
                is_read = reference.needs_value and name not in (*block.binds, *seen)
                if is_read and first.get(name, 0) > block.line and _is_own(name, scope):
                    seen.add(name)
                    message = f"`{name}` is not bound here: no path to this block binds it"
                    hint = "bind it above the block"
                    at = reference.start, reference.end
                    yield make_diagnostic(module.source, "NJ205", *at, message, hint)


def _find_first_bindings(
    module: Module, scope: NameScope, within: Sequence[NaturalBlock]
) -> dict[str, int]:
    """Return the first line of a scope that binds each name."""
    first = {name: block.line for block in reversed(within) for name in block.binds}
    for statement in scope.statements:
        if not (isinstance(statement, ast.AnnAssign) and statement.value is None):
            for name in list_bound_names(statement, module.source.has_walrus):
                first[name] = min(first.get(name, statement.lineno), statement.lineno)
    return first


def _is_own(name: str, scope: NameScope) -> bool:
    """Return whether the scope's statements bind a name that has no other meaning before."""
    is_builtin = scope.kind == "module" and hasattr(builtins, name)
    stored, bindings = mangle(name, scope.mangling_class), scope.bindings
    return stored in bindings.bound and stored not in bindings.parameters and not is_builtin
