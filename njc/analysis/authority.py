"""What a block may do: the jumps that it is offered, and whether its model may run code.

    Put into <:team: Literal["billing", "shipping"]> the team for <ticket>.      ticket: str
        ──decide_authority──>   Authority(labels=(), effects="answer", reason="its outputs are data ...")
    Add <query> to <graph>, or break.                                            graph: dict[str, set[str]]
        ──decide_authority──>   Authority(labels=("break",), effects="direct", reason="it may change `graph` ...")

A block is offered the jumps that its text names. It needs no code where every output is a plain name whose type
JSON carries, and nothing that the text reads can be changed. What this does not see: a text that asks for exact
computing, or for a change through an object inside a read-only container; the model then asks for code itself.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from njc.analysis.inference import TypeReader
from njc.analysis.json_forms import has_json_form, is_read_only
from njc.analysis.types import SCALARS, Typed
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.names import Global, Local, resolve_name
from njc.frontend.source import SourceFile
from njrt.options import Options, merge_option_layers

OfferedLabel = Literal["break", "continue", "return", "bare_return"]

_JUMP_WORDS = {
    "break": re.compile(r"\bbr(?:eak(?:s|ing)?|oke|oken)\b", re.IGNORECASE),
    "continue": re.compile(r"\bcontinu(?:e|es|ed|ing)\b", re.IGNORECASE),
    "return": re.compile(r"\breturn(?:s|ed|ing)?\b", re.IGNORECASE),
}
"""The words by which a text names a jump."""


@dataclass(frozen=True, slots=True)
class Authority:
    """What a block may do, and why. `remedy` says what to write so that it needs no code, where little is missing."""

    labels: tuple[OfferedLabel, ...]
    effects: Literal["answer", "direct"] | None
    """None where the author or the project chose the effect set."""
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a block needs code, and what to write so that it does not."""

    reason: str
    remedy: str = ""


def decide_authority(block: NaturalBlock, types: TypeReader, project: Options) -> Authority:
    """Decide what a block may do; its options are already merged with those of its file."""
    options = merge_option_layers(block.options, project)
    labels = list_offered_labels(block, project)
    if options.effects is not None:
        return Authority(labels, None, f'effects="{options.effects}" is set')
    if options.authority == "code":
        return Authority(labels, "direct", 'authority="code" is set')
    obstacles = list(find_obstacles(block, labels, types))
    if not obstacles:
        return Authority(
            labels, "answer", "its outputs are data, and nothing that it reads can be changed"
        )
    remedies = [obstacle.remedy for obstacle in obstacles]
    remedy = "; ".join(remedies) if all(remedies) and len(remedies) <= 2 else ""
    return Authority(labels, "direct", "; ".join(o.reason for o in obstacles), remedy)


def list_offered_labels(block: NaturalBlock, project: Options) -> tuple[OfferedLabel, ...]:
    """The jumps that a block may take beyond raise, in fixed order: those that are legal and that its text names."""
    legal = [label for label in block.labels if label not in block.labels_exiting_finally]
    offered: list[OfferedLabel] = []
    words = block.words
    takes_all = merge_option_layers(block.options, project).jumps == "all"
    for label in ("break", "continue", "return"):
        if label in legal and (takes_all or _JUMP_WORDS[label].search(words)):
            is_bare = label == "return" and "return_value" not in legal
            offered.append("bare_return" if is_bare else label)
    return tuple(offered)


_RAISE_WORD = re.compile(r"\b(?:re-?)?rais(?:e|es|ed|ing)\b", re.IGNORECASE)


def may_reraise(block: NaturalBlock, project: Options) -> bool:
    """Whether a block in an `except*` suite may re-raise what the suite handles: its text names `raise`."""
    takes_all = merge_option_layers(block.options, project).jumps == "all"
    return block.frame.in_except_star and (takes_all or bool(_RAISE_WORD.search(block.words)))


_IMPLIED_JUMP = re.compile(
    r"\b(?:skip|stop|leave the loop|exit the loop|quit|abort|next (?:one|item|round|iteration)|go on to|end the loop)\b",
    re.IGNORECASE,
)
"""Words that often mean a jump."""


def find_hints(
    source: SourceFile, block: NaturalBlock, authority: Authority
) -> Iterator[Diagnostic]:
    """Say what to write so that a block gets the jump that it means, or needs no code."""
    start = block.end - 3 - len(block.prompt)
    implied = _IMPLIED_JUMP.search(block.words)
    if implied and not authority.labels and block.labels:
        at = (start + implied.start(), start + implied.end())
        names = [label for label in ("break", "continue", "return") if label in block.labels]
        if names:
            choice = " or ".join(f"`{name}`" for name in names)
            message = f"`{implied[0]}` may mean a jump, and the text names none"
            yield make_diagnostic(source, "NJ303", *at, message, f"write {choice} if it does")
    if authority.remedy:
        message = f"the block has code: {authority.reason}"
        yield make_diagnostic(
            source, "NJ304", block.start, block.start + 10, message, authority.remedy
        )


def find_obstacles(
    block: NaturalBlock, labels: tuple[OfferedLabel, ...], types: TypeReader
) -> Iterator[Obstacle]:
    """Say why a block needs code."""
    if not block.writes and not labels:
        yield Obstacle("it has neither an output nor a jump, so it acts on the program")
    for path in block.writes:
        yield from _find_output_obstacle(block, path, types)
    if "super" in block.names:
        yield Obstacle("it reads `super`")
    for path in block.reads:
        yield from _find_input_obstacle(block, path, types)


def _find_output_obstacle(block: NaturalBlock, path: str, types: TypeReader) -> Iterator[Obstacle]:
    if "." in path:
        yield Obstacle(f"it sets the attribute `{path}`")
        return
    typed = types.output_type(path, block.scope)
    if typed is None:
        yield Obstacle(
            f"the output `{path}` has no type", f"write `<:{path}: str>`, or the type that it has"
        )
    elif not has_json_form(typed, types):
        yield Obstacle(f"JSON does not carry the type of the output `{path}: {typed}`")


def _find_input_obstacle(block: NaturalBlock, path: str, types: TypeReader) -> Iterator[Obstacle]:
    root, *attributes = path.split(".")
    if _is_type(root, block, types):
        return
    typed = types.infer(ast.Name(root, ast.Load()), block.scope)
    if typed is None and (part := types.output_type(root, block.scope)) and root in block.binds:
        typed = part
    for attribute in attributes:
        typed = types.field_type(typed, attribute) if typed is not None else None
    if typed is None:
        yield Obstacle(
            f"it may change `{path}`, whose type is not known",
            f"annotate `{path}`" if not attributes else "",
        )
    elif not is_read_only(typed, types):
        yield Obstacle(f"it may change `{path}: {typed}`", _suggest_type(path, typed, types))


def _is_type(name: str, block: NaturalBlock, types: TypeReader) -> bool:
    if types.class_of(name, block.scope) or types.alias_of(name, block.scope):
        return True
    home = resolve_name(name, block.scope, types.outputs)
    if isinstance(home, Global) and not home.known:
        return isinstance(getattr(builtins, name, None), type)
    if isinstance(home, Local | Global):
        imported = types.name_of(Typed(ast.Name(name, ast.Load()), block.scope))
        leaf = imported.rpartition(".")[2]
        return imported in SCALARS or (
            leaf.endswith(("Error", "Exception", "Warning")) and leaf[:1].isupper()
        )
    return False


_READ_ONLY_FORMS = {"list": "Sequence", "dict": "Mapping", "set": "frozenset"}


def _suggest_type(path: str, typed: Typed, types: TypeReader) -> str:
    """The read-only annotation to write in place of a mutable one."""
    expanded = types.expand(typed)
    match expanded.annotation:
        case ast.Subscript(slice=inner) if types.name_of(expanded) in _READ_ONLY_FORMS:
            form = _READ_ONLY_FORMS[types.name_of(expanded)]
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            inside = ", ".join(map(ast.unparse, parts))
            return f"annotate `{path}: {form}[{inside}]`, if the block only reads it"
    found = types.class_of_type(expanded)
    if found is not None:
        return f"make `{found[0].name}` a frozen dataclass, if the block only reads it"
    return ""
