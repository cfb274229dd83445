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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from njc.analysis.class_members import find_field_type, is_dataclass, list_base_names, list_fields
from njc.analysis.inference import TypeReader
from njc.analysis.json_forms import find_json_problem
from njc.analysis.read_only import (
    find_changeable,
    find_changeable_class_attribute,
    infer_class_value,
    is_exception_name,
    is_read_only,
)
from njc.analysis.types import SCALARS, ClassDefinition, Typed, unquote
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.names import Global, NameScope, resolve_name
from njc.frontend.source import SourceFile
from njrt.options import Options, merge_option_layers

OfferedLabel = Literal["break", "continue", "return", "bare_return"]
LoopLabel = Literal["break", "continue"]

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
    words = blank_references(block)
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
    return block.frame.in_except_star and (
        takes_all or bool(_RAISE_WORD.search(blank_references(block)))
    )


_UNMEANT = (
    r"(?<!\bnot )(?<!\bnever )(?<!n't )(?<!n’t )(?<!\bwithout )(?<!\bnon-)(?<!\bbus )(?<!\bfull )"
)
"""What stands before words that mean no jump, as in "do not stop" and "a full stop"."""
_NEXT = r"(?:one|item|round|iteration|element|entry|line|row|record|step|turn)"
_IMPLIED_JUMPS: Mapping[LoopLabel, re.Pattern[str]] = {
    "continue": re.compile(
        rf"{_UNMEANT}\b(?:skip(?:s|ped|ping)?\b(?![ -]?lists?\b)|next {_NEXT}\b"
        r"|(?:go|goes|move|moves|carry|pass|passes) on\b|(?:go|move|proceed|jump|advance) to the next\b|pass over\b)",
        re.IGNORECASE,
    ),
    "break": re.compile(
        rf"{_UNMEANT}\b(?:stop(?:s|ped|ping)?\b(?![ -]?(?:words?|signs?|codons?|watch(?:es)?|loss(?:es)?)\b)"
        r"|(?:leave|exit|end|quit|terminate|abort|(?:get|jump) out of) th(?:e|is) (?:\w+ )?(?:loop|function)\b"
        r"|quit\b|abort\b|halt\b|bail out\b|give up\b|(?:hand|give) back\b|(?:exit|finish|end|leave) (?:early|here|now)\b)",
        re.IGNORECASE,
    ),
}
"""Words that often mean a jump: to the next round, or out of the loop or the function."""
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`")


def blank_references(block: NaturalBlock) -> str:
    """The words of a prompt; its references, whose names and types name no jump, are blanked."""
    text = block.words
    shift = block.end - 3 - len(text)
    for reference in block.references:
        begin, end = reference.start - shift, reference.end - shift
        text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def find_hints(
    source: SourceFile, block: NaturalBlock, authority: Authority
) -> Iterator[Diagnostic]:
    """Say what to write so that a block gets the jump that it means, or needs no code."""
    start = block.end - 3 - len(block.prompt)
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), blank_references(block))
    for jump, words in _IMPLIED_JUMPS.items():
        names = [name for name in (jump, "return") if name in block.labels]
        meant = names[:1] if jump == "continue" else names
        offered = {label.removeprefix("bare_") for label in authority.labels}
        if meant and not {*meant} & offered and (implied := words.search(text)):
            at = (start + implied.start(), start + implied.end())
            choice = " or ".join(f"`{name}`" for name in meant)
            message = f"`{implied[0]}` may mean a jump that the text does not name"
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
    if "return" in labels:
        yield from _find_return_obstacle(block, types)
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
    elif problem := find_json_problem(typed, types):
        yield Obstacle(f"the output `{path}: {typed}`: {problem.reason}", problem.remedy)


def _find_return_obstacle(block: NaturalBlock, types: TypeReader) -> Iterator[Obstacle]:
    """A type of what the function returns that JSON does not carry; where it says none, anything simple may be."""
    scope = block.scope
    returns = getattr(scope.node, "returns", None)
    if scope.kind not in ("function", "async function") or returns is None:
        return
    typed = Typed(unquote(returns), scope.parent or scope)
    if types.name_of(types.expand(typed)) in ("typing.Any", "object"):
        return
    if problem := find_json_problem(typed, types):
        yield Obstacle(f"it may return `{typed}`: {problem.reason}", problem.remedy)


ANSWER_REMEDY = 'write `effects="answer"` on the block'


_USED_NOT_READ = frozenset(
    f"collections.abc.{name}"
    for name in ("Callable", "Iterator", "Generator", "AsyncIterator", "AsyncGenerator")
) | {f"typing.{name}" for name in ("Callable", "AsyncIterator", "AsyncGenerator")}
"""Types whose values a text names in order to call them, or to take what they yield."""


def _find_input_obstacle(block: NaturalBlock, path: str, types: TypeReader) -> Iterator[Obstacle]:
    root, *attributes = path.split(".")
    scope = block.scope
    if _is_type(root, scope, types):
        yield from _find_class_obstacle(root, attributes, block, types)
        return
    typed = types.infer(ast.Name(root, ast.Load()), scope)
    if typed is None and (part := types.output_type(root, scope)) and root in block.binds:
        typed = part
    owner = typed
    for attribute in attributes:
        owner, typed = (
            typed,
            find_field_type(typed, attribute, types) if typed is not None else None,
        )
    if typed is not None:
        if (changeable := find_changeable(typed, types)) is not None:
            holds = f", which holds `{changeable}`" * (str(changeable) != str(types.expand(typed)))
            reason = f"it may change `{path}: {typed}`{holds}"
            yield Obstacle(reason, _suggest_type(path, typed, changeable, types))
    elif kind := types.find_definition(root, scope):
        remedy = f"{ANSWER_REMEDY}, if it only reads `{path}`" if root.isupper() else ""
        yield Obstacle(f"it may use the {kind} `{root}`", remedy)
    elif root == _find_options_parameter(block):
        yield Obstacle(f"it may change `{path}`", f"{ANSWER_REMEDY}, if it only reads `{path}`")
    else:
        can_annotate = not attributes or (owner is not None and types.class_of_type(owner))
        yield Obstacle(
            f"it may change `{path}`, whose type is not known",
            f"annotate `{path}`" if can_annotate else f"{ANSWER_REMEDY}, if it only reads `{path}`",
        )


def _find_class_obstacle(
    root: str, attributes: list[str], block: NaturalBlock, types: TypeReader
) -> Iterator[Obstacle]:
    """What can be changed through a class, a type of the library or an alias that the text names."""
    scope = block.scope
    path = ".".join([root, *attributes])
    found = types.class_of_type(types.expand(Typed(ast.Name(root, ast.Load()), scope)))
    if found is None:
        if attributes and not hasattr(builtins, root):
            yield Obstacle(f"it may change `{path}`, whose type is not known", "")
        return
    yield from _find_exception_obstacle(found, root, types)
    typed = _find_class_attribute_type(found, attributes, types) if attributes else None
    changeable = (
        find_changeable(typed, types)
        if typed is not None
        else find_changeable_class_attribute(found, types)
    )
    if changeable is not None or (attributes and typed is None):
        reason = (
            f"it may change the class attribute `{path}`"
            if attributes
            else f"it may change the class `{root}`"
        )
        yield Obstacle(reason, f"{ANSWER_REMEDY}, if it only reads `{path}`")


def _find_class_attribute_type(
    found: ClassDefinition, attributes: list[str], types: TypeReader
) -> Typed | None:
    """The type of a class attribute, or of a member of an enum; None if it is not known."""
    node, scope = found
    name, *inner = attributes
    typed = None
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=declared), annotation=annotation) if (
                declared == name
            ):
                typed = Typed(unquote(annotation), scope)
            case ast.Assign(targets=[ast.Name(id=declared)], value=value) if declared == name:
                is_enum = any(base.startswith("enum.") for base in list_base_names(found, types))
                itself = Typed(ast.Name(node.name, ast.Load()), scope)
                typed = itself if is_enum else infer_class_value(value, node, scope, types)
    for attribute in inner:
        typed = find_field_type(typed, attribute, types) if typed is not None else None
    return typed


def _find_options_parameter(block: NaturalBlock) -> str | None:
    """The parameter `**options` of the function around a block, whose annotation is that of its values."""
    node = block.scope.node
    rest = None if isinstance(node, ast.Module | ast.ClassDef) else node.args.kwarg
    return rest.arg if rest is not None else None


def _find_exception_obstacle(
    found: ClassDefinition, name: str, types: TypeReader
) -> Iterator[Obstacle]:
    """An exception of this file that is not made of a message alone."""
    if not any(map(is_exception_name, list_base_names(found, types))):
        return
    for statement in found[0].body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            parameters = statement.args
            required = len(parameters.posonlyargs + parameters.args) - len(parameters.defaults)
            by_name = any(default is None for default in parameters.kw_defaults)
            if required > 2 or by_name:
                yield Obstacle(f"the exception `{name}` is not made of a message alone")


def _is_type(name: str, scope: NameScope, types: TypeReader) -> bool:
    typed = Typed(ast.Name(name, ast.Load()), scope)
    if types.class_of_type(typed) or types.alias_of(name, scope):
        return True
    home = resolve_name(name, scope, types.outputs)
    if isinstance(home, Global) and not home.known:
        return isinstance(getattr(builtins, name, None), type)
    imported = types.name_of(typed)
    return imported in SCALARS or is_exception_name(imported)


_READ_ONLY_FORMS = {"list": "Sequence", "dict": "Mapping", "set": "frozenset"}


def _suggest_type(path: str, typed: Typed, changeable: Typed, types: TypeReader) -> str:
    """What to write so that the values of a type can only be read, down to what they hold."""
    form = make_read_only(types.expand(typed), types)
    if form is not None and is_read_only(typed.inside(form), types):
        return f"annotate `{path}: {ast.unparse(form)}`, if the block only reads it"
    if types.name_of(types.expand(changeable)) in _USED_NOT_READ:
        return ""
    found = types.class_of_type(types.expand(typed))
    if found is not None and is_dataclass(found[0]):
        fields = [
            (name, field, make_read_only(types.expand(field), types))
            for name, field in list_fields(found, types)
            if not is_read_only(field, types)
        ]
        if all(form and is_read_only(field.inside(form), types) for _, field, form in fields):
            forms = [f"`{name}: {ast.unparse(form)}`" for name, _, form in fields if form]
            with_fields = f" with {' and '.join(forms)}" * bool(forms)
            remedy = f"make `{found[0].name}` a frozen dataclass{with_fields}"
            return f"{remedy}, if the block only reads it"
    return f"{ANSWER_REMEDY}, if it only reads `{path}`"


def make_read_only(typed: Typed, types: TypeReader) -> ast.expr | None:
    """The type with `Sequence`, `Mapping` and `frozenset` in place of what can be changed; None if nothing is."""
    match typed.annotation:
        case ast.Subscript(value=origin, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            made = [make_read_only(types.expand(typed.inside(part)), types) for part in parts]
            name = _READ_ONLY_FORMS.get(types.name_of(typed))
            if name is None and not any(made):
                return None
            written = [new or old for new, old in zip(made, parts, strict=True)]
            slice_ = ast.Tuple(written, ast.Load()) if len(written) > 1 else written[0]
            return ast.Subscript(ast.Name(name, ast.Load()) if name else origin, slice_, ast.Load())
    return None
