"""The outputs of blocks that nothing uses.

    '''natural
    Write a <:reply> to <message> and a <:summary>.     NJ204  `summary` is never used
    '''
    send(reply)

An output is used if another block of its function reads it, or if its name is anywhere in the rest
of the function's text.

Not detected: outputs whose name is only in a comment, a string or an assignment; attributes. Uses
by `exec` outside the function are not seen. NJ204 is not reported if `locals()` or `eval` could use
the variable.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import NameScope
from njc.compiler.frontend.prompt_references import NAME
from njc.compiler.frontend.source import SourceFile

_WORD = re.compile(NAME)
_NAMESPACE_FUNCTIONS = frozenset({"locals", "vars", "eval", "exec", "globals"})


def check_outputs(source: SourceFile, blocks: Sequence[NaturalBlock]) -> Iterator[Diagnostic]:
    """Check the outputs of the blocks in every function."""
    used: dict[NameScope, set[str]] = {}
    for block in blocks:
        for scope in filter(lambda scope: scope.is_function, block.scope.walk_outwards()):
            if scope not in used:
                used[scope] = _list_words(source, scope, blocks)
            used[scope].update(each.root for each in block.references if each.needs_value)
    for block in blocks:
        scope = block.scope
        if not scope.is_function or not _NAMESPACE_FUNCTIONS.isdisjoint(used[scope]):
            continue
        for name in block.binds:
            if not name.startswith("_") and name not in used[scope]:
                output = next(tag for tag in block.references if tag.writes and tag.path == name)
                message = f"output `{name}` is never used afterwards"
                hint = _suggest_declaration(name, scope)
                hint = hint or f"use it, remove it, or call it `_{name}`"
                yield make_diagnostic(source, "NJ204", output.start, output.end, message, hint)


def _list_words(source: SourceFile, scope: NameScope, blocks: Sequence[NaturalBlock]) -> set[str]:
    """Return the words in a function's text, except in prompts that are no f-strings."""
    assert not isinstance(scope.node, ast.Module)
    position, end = source.get_span(scope.node)
    first = bisect_left(blocks, position, key=lambda block: block.start)
    last = bisect_left(blocks, end, key=lambda block: block.start)
    parts: list[str] = []
    for block in blocks[first:last]:
        if not block.is_fstring:
            parts.append(source.text[position : block.start])
            position = block.end
    text = "\n".join([*parts, source.text[position:end]])
    return set(_WORD.findall(unicodedata.normalize("NFKC", text)))


def _suggest_declaration(name: str, scope: NameScope) -> str | None:
    """Suggest a declaration if a variable outside the function has the output's name."""
    for outer in scope.walk_outwards():
        if outer is not scope and outer.kind != "class" and name in outer.bindings.bound:
            keyword = "global" if outer.kind == "module" else "nonlocal"
            return f"to bind the variable outside of the function, declare `{keyword} {name}` in it"
    return None
