"""The outputs of blocks that nothing uses.

    '''natural
    Write a <:reply> to <message> and a <:summary>.     NJ204  `summary` is never used
    '''
    send(reply)

Each function is analysed separately, and only for the variables that natural blocks bind there.

Not detected: uses in a string, by `exec` outside the function, or of an attribute output. NJ204 is
not reported if `locals()` or `eval` could use the variable. Reads of variables that are not bound
yet are left to the program's run.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    Local,
    NameScope,
    resolve_name,
)
from njc.compiler.frontend.source import SourceFile
from njc.compiler.frontend.walking import get_line_span, walk_lines
from njrt.data.private_names import mangle

_NAMESPACE_FUNCTIONS = frozenset({"locals", "vars", "eval", "exec", "globals"})


def check_outputs(
    source: SourceFile, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    """Check the outputs of the blocks in every function."""
    scopes: dict[NameScope, list[NaturalBlock]] = {}
    for block in blocks:
        scopes.setdefault(block.scope, []).append(block)
    reads = _collect_reads(blocks, outputs)
    for scope, within in scopes.items():
        if scope.is_function:
            yield from _check_unused(source, within, reads, outputs)


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
