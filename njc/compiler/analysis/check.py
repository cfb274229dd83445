"""Checks of each block's names, types and jumps against the surrounding program.

    for item in items:
        '''natural
        If <itme> is broken, return "no".    NJ201  `itme` is not defined here: did you mean `item`?
        '''                                  NJ301  `return` is not possible here: not in a function

Every problem is reported, not only the first. outputs.py checks how values flow between blocks and
program. Not detected: names that `exec`, `globals()[...]` or another module binds are reported as
undefined; after `from m import *`, no name is.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import typing
import unicodedata
from collections.abc import Iterator, Sequence

from njc.compiler.analysis.control_words import find_statements
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    Global,
    Local,
    NameScope,
    is_bound,
    is_defined,
    resolve_name,
)
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import (
    NAME,
    KeywordTag,
    MistypedTag,
    NearTag,
    Reference,
    list_variables,
    parse_type,
)
from njc.compiler.frontend.source import SourceFile
from njrt.data.private_names import mangle
from njrt.data.similar import find_similar


def check(
    module: Module, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    """Check every block of a module separately."""
    undefined = 0
    for block in blocks:
        for problem in _check_tags(module.source, block, outputs, undefined < _MOST_SUGGESTIONS):
            undefined += problem.code == "NJ201"
            yield problem
        yield from _check_interface(module.source, block, outputs)
        yield from _check_control_words(module.source, block)
        yield from _check_braces(module.source, block, outputs)
    yield from _check_future_imports(module, blocks)


_MOST_SUGGESTIONS = 50
"""The limit per file: comparing every undefined name with every name in scope takes time."""


def _check_interface(
    source: SourceFile, block: NaturalBlock, outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    named = block.interface
    if named is not None and not is_defined(named.root, block.scope, outputs):
        message = f"`{named.root}` is not defined here"
        hint = "import the module of the interface, or define it above"
        yield make_diagnostic(source, "NJ201", named.start, named.end, message, hint)


def _check_tags(
    source: SourceFile, block: NaturalBlock, outputs: BlockOutputs, suggest: bool
) -> Iterator[Diagnostic]:
    reported: set[str] = set()
    for tag in block.tags:
        at = (tag.start, tag.end)
        match tag:
            case KeywordTag(path=path, writes=True):
                message = f"`{path}` cannot be bound: it has a keyword in it"
                yield make_diagnostic(source, "NJ202", *at, message)
            case KeywordTag(path=path):
                message = f"`<{path}>` names no variable and is plain text"
                hint = f"write `<<{path}>` to mark it as plain text"
                yield make_diagnostic(source, "NJ203", *at, message, hint)
            case MistypedTag(path=path):
                message = f"the type of `{path}` is not a Python annotation, so this is plain text"
                hint = f"write a type such as `<:{path}: str>`, or `<:{path}>` without one"
                yield make_diagnostic(source, "NJ207", *at, message, hint)
            case NearTag(root=root, writes=writes, reason=reason, hint=hint):
                if writes or tag.is_typed or _is_variable(root, block.scope, outputs):
                    code = "NJ207" if writes else "NJ208"
                    yield make_diagnostic(source, code, *at, reason, hint)
            case Reference():
                for problem in _check_reference(source, block, tag, outputs, suggest):
                    if problem.message not in reported:
                        reported.add(problem.message)
                        yield problem


def _is_variable(name: str, scope: NameScope, outputs: BlockOutputs) -> bool:
    """Return whether the program, not only Python, binds the name."""
    home = resolve_name(name, scope, outputs)
    return not isinstance(home, Global) or home.known


def _check_reference(
    source: SourceFile,
    block: NaturalBlock,
    reference: Reference,
    outputs: BlockOutputs,
    suggest: bool,
) -> Iterator[Diagnostic]:
    scope, root, at = block.scope, reference.root, (reference.start, reference.end)
    binds = reference.writes and not reference.is_dotted
    if binds and root in ("__debug__", "__class__"):
        message = f"`{root}` cannot be bound: Python keeps it for itself"
        yield make_diagnostic(source, "NJ202", *at, message)
    elif not binds and not is_defined(root, scope, outputs):
        suggestion = suggest_name(root, block, outputs) if suggest else None
        hint = suggestion or f"if this is text, write `<<{reference.path}>`"
        yield make_diagnostic(source, "NJ201", *at, f"`{root}` is not defined here", hint)
    elif not binds and _is_plain_builtin(root) and not _is_variable(root, scope, outputs):
        message = f"`{root}` is Python's builtin, which a block has without a reference"
        hint = f"if this is text, write `<<{reference.path}>`; otherwise leave out the brackets"
        yield make_diagnostic(source, "NJ209", *at, message, hint)
    if scope.kind == "class" and mangle(root, scope.mangling_class) in scope.bindings.globals:
        assert scope.parent is not None
        if isinstance(resolve_name(root, scope.parent, outputs), Local):
            message = f"`{root}` is global in this class, but local in the function around it"
            hint = "give one of the two variables another name"
            yield make_diagnostic(source, "NJ206", *at, message, hint)
    for name in list_variables(parse_type(reference.type)) if reference.type else ():
        if not is_defined(name, scope, outputs):
            message = f"`{name}`, in the type of `{reference.path}`, is not defined here"
            suggestion = suggest_name(name, block, outputs) if suggest else None
            yield make_diagnostic(source, "NJ201", *at, message, suggestion)


def _is_plain_builtin(name: str) -> bool:
    """Return whether a name is a builtin and a plain word; `super` works only as a reference."""
    return name.islower() and name.isalpha() and name != "super" and hasattr(builtins, name)


def suggest_name(name: str, block: NaturalBlock, outputs: BlockOutputs) -> str | None:
    """Return how to correct an undefined name, or None."""
    for scope in block.scope.walk_outwards():
        if scope.kind == "class" and is_bound(mangle(name, scope.name), scope, outputs):
            return (
                f"`{name}` belongs to the class `{scope.name}`: reach it through the class or"
                " `self`"
            )
    candidates = [each for each in block.scope.list_visible_names(outputs) if each != name]
    public = [each for each in dir(builtins) if each[0] == name[0] != "_"]
    close = find_similar(name, candidates) or find_similar(name, public)
    if any(
        isinstance(node, ast.Name) and node.id == name and node.lineno > block.end_line
        for node in ast.walk(block.scope.node)
    ):
        return f"to have the block bind it, write `<:{name}>`"
    if close:
        return f"did you mean `{close}`?"
    if name in typing.__all__:
        return f"add `from typing import {name}` above"
    return f"add `import {name}` above" if name in sys.stdlib_module_names else None


_BRACES = re.compile(
    rf"(?<!\{{)\{{(?P<name>{NAME})(?:\.{NAME})*(?:\[[^\]{{}}]*\])?"
    r"(?:![rsa])?(?::[^{}]*)?\}(?!\})"
)


def _check_braces(
    source: SourceFile, block: NaturalBlock, outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    """Report `{x}` in a prompt that is not an f-string, if the program has an `x`."""
    if block.is_fstring:
        return
    start = len(block.literal) - len(block.prompt) - 3
    for field in _BRACES.finditer(block.literal, start):
        name = unicodedata.normalize("NFKC", field["name"])
        if _is_variable(name, block.scope, outputs) and is_defined(name, block.scope, outputs):
            at = (block.start + field.start(), block.start + field.end())
            message = f"`{field[0]}` is plain text: the prompt is not an f-string"
            yield make_diagnostic(source, "NJ210", *at, message, f"write `<{name}>`")


def _check_control_words(source: SourceFile, block: NaturalBlock) -> Iterator[Diagnostic]:
    reported: set[str] = set()
    start = block.end - 3 - len(block.prompt)
    for place, label in find_statements(block):
        if label in reported:
            continue
        reported.add(label)
        at = (start + place.start, start + place.stop)
        if label in block.labels_exiting_finally:
            message = f"`{label}` is not possible here: it would leave a `finally` suite"
            hint = "move the block out of the `finally` suite"
            yield make_diagnostic(source, "NJ302", *at, message, hint)
        elif label not in block.labels:
            message = f"`{label}` is not possible here: {_explain_illegal_label(block, label)}"
            hint = "move the block, or choose another word"
            yield make_diagnostic(source, "NJ301", *at, message, hint)


def _explain_illegal_label(block: NaturalBlock, label: str) -> str:
    if label == "return":
        return "an `except*` suite" if block.frame.return_barred else "not in a function"
    return "an `except*` suite" if block.frame.loop_barred else "not in a loop"


def _check_future_imports(module: Module, blocks: Sequence[NaturalBlock]) -> Iterator[Diagnostic]:
    imports = [node for node in module.tree.body if isinstance(node, ast.ImportFrom)]
    last = max((each.lineno for each in imports if each.module == "__future__"), default=0)
    for block in blocks:
        if block.line < last:
            message = "natural block before a `from __future__` import"
            hint = "move the block below the import"
            yield make_diagnostic(module.source, "NJ105", *block.head, message, hint)
