"""Decide the authority of a block: the jumps that it may take, and whether its model may run code.

    Put into <:team: Literal["billing", "shipping"]> the team for <ticket>.
        ticket: str
        ──decide_authority──>   Authority(labels=(), effects="answer",
                                          reason="its outputs are data ...")
    Add <query> to <graph>, or break.
        graph: dict[str, set[str]]
        ──decide_authority──>   Authority(labels=("break",), effects="direct",
                                          reason="it may change `graph` ...")

A block may take the jumps that its text names. It needs no code if each output is a plain variable
with a type that has a JSON form, and none of its inputs can be changed. Only types decide this,
never words: if the text asks for a computation, a change or an act such as printing, the model
requests code.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from njc.compiler.analysis.annotations import find_hidden_names, unquote, unquote_inside
from njc.compiler.analysis.changeability import CONTAINERS, is_exception_name
from njc.compiler.analysis.control_words import JUMP_LABELS, list_named_jumps, names_raise
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.json_compatibility import find_json_problem
from njc.compiler.analysis.types import MAX_DEPTH, SCALARS, ClassDefinition, Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import NameScope
from njc.compiler.frontend.prompt_references import list_variables
from njrt.data.options import Options, merge_option_layers
from njrt.data.records import record

OfferedLabel = Literal["break", "continue", "return", "bare_return"]


@dataclass(frozen=True)
class Authority:
    """A block's permissions, and the reasons for them."""

    block: NaturalBlock
    labels: tuple[OfferedLabel, ...]
    effects: Literal["answer", "direct", "interface"] | None
    """None if the author or the project chose the effect set."""
    choice: str = ""
    """The reason for the decision, unless the obstacles are the reason."""
    obstacles: tuple[Obstacle | ChangeableInput, ...] = ()
    """Why the block needs code."""

    @cached_property
    def reason(self) -> str:
        """The reason for the decision, in words."""
        return self.choice or "; ".join(obstacle.reason for obstacle in self.obstacles)

    @cached_property
    def remedy(self) -> str:
        """How to avoid code in the block; empty if that takes over two changes or has no remedy."""
        remedies = [] if self.choice else [obstacle.remedy for obstacle in self.obstacles[:3]]
        return "; ".join(remedies) if all(remedies) and len(remedies) <= 2 else ""

    @property
    def can_answer(self) -> bool:
        """Whether the only obstacles are changeable inputs that the text does not bind."""
        are_inputs = all(obstacle.is_input for obstacle in self.obstacles)
        if self.choice or not (are_inputs and self.block.writes):
            return False
        written = {each.root for each in self.block.references if each.writes}
        return written.isdisjoint(each.root for each in self.block.references if not each.writes)


@record
class Obstacle:
    """Why a block needs code, and how to avoid it."""

    reason: str
    remedy: str = ""
    is_missing: bool = False
    """Whether a block without code could do nothing at all."""
    is_input: bool = False
    """Whether the obstacle is a value that could be changed."""
    is_call: bool = False
    """Whether the obstacle is a function, a class or a method that could be called."""


@dataclass(frozen=True)
class ChangeableInput:
    """An input of a changeable type; `reason` and `remedy` are computed when they are read."""

    path: str
    typed: Typed
    changeable: Typed
    """The part of the type that makes it changeable."""
    types: TypeReader
    is_missing = is_call = False
    is_input = True

    @property
    def reason(self) -> str:
        """Why the block needs code."""
        if self.types.name_of(self.types.expand(self.changeable)) in _USED_UP:
            return f"it may use up `{self.path}: {self.typed}`"
        is_part = str(self.changeable) != str(self.types.expand(self.typed))
        holds = f", which holds `{self.changeable}`" * is_part
        return f"it may change `{self.path}: {self.typed}`{holds}"

    @property
    def remedy(self) -> str:
        """How to annotate the input so that the block needs no code."""
        return _suggest_type(self.path, self.typed, self.changeable, self.types)


def decide_authority(block: NaturalBlock, types: TypeReader, project: Options) -> Authority:
    """Decide a block's authority; its options are already merged with its file's options."""
    options = merge_option_layers(block.options, project)
    labels = list_offered_labels(block, project)
    if block.interface is not None:
        reason = f"it has the effects of the interface `{block.interface.path}`"
        return Authority(block, labels, "interface", reason)
    obstacles = tuple(_find_obstacles(block, labels, types))
    effects: Literal["answer", "direct"] | None = "direct"
    if options.effects is not None:
        effects, choice = None, f'effects="{options.effects}" is set'
    elif options.authority == "code":
        choice = 'authority="code" is set'
    elif obstacles:
        choice = ""
    else:
        does = "its outputs are data" if block.writes else "it only jumps"
        effects, choice = "answer", f"{does}, and nothing that it reads can be changed"
    return Authority(block, labels, effects, choice, obstacles)


def list_offered_labels(block: NaturalBlock, project: Options) -> tuple[OfferedLabel, ...]:
    """Return the legal jumps that the text names, except raise, in a fixed order.

    An interface's handlers may take every legal jump.
    """
    legal = [label for label in block.labels if label not in block.labels_exiting_finally]
    offered: list[OfferedLabel] = []
    options = merge_option_layers(block.options, project)
    takes_all = block.interface is not None or options.jumps == "all"
    for label in JUMP_LABELS if takes_all else list_named_jumps(block):
        if label in legal:
            is_bare = label == "return" and "return_value" not in legal
            offered.append("bare_return" if is_bare else label)
    return tuple(offered)


def may_reraise(block: NaturalBlock, project: Options) -> bool:
    """Return whether a block in an `except*` suite may re-raise exceptions: it names `raise`."""
    takes_all = merge_option_layers(block.options, project).jumps == "all"
    return block.frame.group is not None and (takes_all or names_raise(block))


def _find_obstacles(
    block: NaturalBlock, labels: tuple[OfferedLabel, ...], types: TypeReader
) -> Iterator[Obstacle | ChangeableInput]:
    """Yield the reasons why a block needs code."""
    if not block.writes and not labels:
        reason = "it has neither an output nor a jump, so it acts on the program"
        yield Obstacle(reason, is_missing=True)
    if "return" in labels:
        yield from _find_return_obstacle(block, types)
    for path in block.writes:
        yield from _find_output_obstacle(block, path, types)
    if "super" in block.names:
        yield Obstacle("it uses `super`")
    for path in block.reads:
        yield from _find_input_obstacle(block, path, types)


def _find_output_obstacle(block: NaturalBlock, path: str, types: TypeReader) -> Iterator[Obstacle]:
    if "." in path:
        yield Obstacle(f"it sets the attribute `{path}`")
        return
    typed = types.output_type(path, block.scope)
    if typed is None:
        yield Obstacle(
            f"the output `{path}` has no type", f"write its type, as in `<:{path}: str>`"
        )
    elif block.frame.in_loop and path in list_variables(unquote_inside(typed, types)):
        reason = f"the output `{path}: {typed}` hides its type after the first round"
        yield Obstacle(reason, "give it another name")
    elif problem := find_json_problem(typed, types):
        yield Obstacle(f"the output `{path}: {typed}`: {problem.reason}", problem.remedy)


def _find_return_obstacle(block: NaturalBlock, types: TypeReader) -> Iterator[Obstacle]:
    """Yield an obstacle if there is an annotated return type that JSON cannot represent."""
    scope = block.scope
    returns = getattr(scope.node, "returns", None)
    if scope.kind not in ("function", "async function") or returns is None:
        return
    typed = Typed(unquote(returns), scope.signature_scope)
    if types.name_of(types.expand(typed)) in ("typing.Any", "object"):
        return
    if problem := find_json_problem(typed, types):
        yield Obstacle(f"it may return `{typed}`: {problem.reason}", problem.remedy)
    for name in find_hidden_names(typed, scope, types):
        yield Obstacle(f"it may return `{typed}`, and `{name}` is something else inside")


_USED_UP = frozenset(f"collections.abc.{name}" for name in ("Iterable", "Iterator", "Generator"))
"""Types of values that can be read only once."""

ANSWER_REMEDY = 'write `effects="answer"` on the block'


_USED_NOT_READ = frozenset(
    f"collections.abc.{name}"
    for name in ("Callable", "Iterator", "Generator", "AsyncIterator", "AsyncGenerator")
) | {f"typing.{name}" for name in ("Callable", "AsyncIterator", "AsyncGenerator")}
"""Types of values that a text names in order to call or iterate over them."""


def _find_input_obstacle(
    block: NaturalBlock, path: str, types: TypeReader
) -> Iterator[Obstacle | ChangeableInput]:
    root, *attributes = path.split(".")
    scope = block.scope
    if _is_type(root, scope, types):
        yield from _find_class_obstacle(root, attributes, block, types)
        return
    typed, owner = types.read_type(path, block)
    if typed is not None:
        if (changeable := types.find_changeable(typed)) is not None:
            yield ChangeableInput(path, typed, changeable, types)
        elif method := types.find_method(typed):
            yield _make_method_obstacle(path, method)
    elif kind := types.find_definition(root, scope):
        remedy = f"{ANSWER_REMEDY}, if it only reads `{path}`" if root.isupper() else ""
        yield Obstacle(f"it may use the {kind} `{root}`", remedy, is_call=True)
    elif root in _list_rest_parameters(block):
        yield Obstacle(f"it may change `{path}`", f"{ANSWER_REMEDY}, if it only reads `{path}`")
    else:
        can_annotate = not attributes or (owner is not None and types.class_of_type(owner))
        yield Obstacle(
            f"it may change `{path}`, whose type is not known",
            f"annotate `{path}`" if can_annotate else f"{ANSWER_REMEDY}, if it only reads `{path}`",
            is_input=True,
        )


def _make_method_obstacle(path: str, method: str) -> Obstacle:
    remedy = f"{ANSWER_REMEDY}, if it only reads the fields of `{path}`"
    return Obstacle(f"it may call `{method}` through `{path}`", remedy, is_call=True)


def _find_class_obstacle(
    root: str, attributes: list[str], block: NaturalBlock, types: TypeReader
) -> Iterator[Obstacle]:
    """Yield changes that a block could make through a class, library type or alias in its text."""
    path = ".".join([root, *attributes])
    found = types.class_of_type(types.expand(Typed(ast.Name(root, ast.Load()), block.scope)))
    if found is None:
        if attributes and not hasattr(builtins, root):
            yield Obstacle(f"it may change `{path}`, whose type is not known", "")
        return
    yield from _find_exception_obstacle(found, root, types)
    typed = types.find_member_type(found, attributes)
    if not any(map(is_exception_name, types.list_base_names(found))):
        method = types.find_public_method(found, of_class=True) if not attributes else None
        if method or (method := types.find_method(typed) if typed is not None else None):
            yield _make_method_obstacle(path, method)
            return
    if (attributes and typed is None) or types.find_changeable_class_attribute(found):
        kind = "class attribute" if attributes else "class"
        remedy = f"{ANSWER_REMEDY}, if it only reads `{path}`"
        yield Obstacle(f"it may change the {kind} `{path}`", remedy)


def _list_rest_parameters(block: NaturalBlock) -> list[str]:
    """Return the function's `*args` and `**options`: annotations describe the values in them."""
    node = block.scope.node
    given = (
        [] if isinstance(node, ast.Module | ast.ClassDef) else [node.args.vararg, node.args.kwarg]
    )
    return [each.arg for each in given if each is not None]


def _find_exception_obstacle(
    found: ClassDefinition, name: str, types: TypeReader
) -> Iterator[Obstacle]:
    """Yield an obstacle if an exception of this file cannot be created from a message alone."""
    if not any(map(is_exception_name, types.list_base_names(found))):
        return
    for statement in found[0].body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            parameters = statement.args
            required = len(parameters.posonlyargs + parameters.args) - len(parameters.defaults)
            by_name = any(default is None for default in parameters.kw_defaults)
            if required > 2 or by_name:
                yield Obstacle(f"the exception `{name}` cannot be created from a message alone")


def _is_type(name: str, scope: NameScope, types: TypeReader) -> bool:
    """Return whether a name means a class, a type alias or an exception."""
    if name in scope.bindings.parameters and len(types.find_statements_binding(name, scope)) == 0:
        return False
    typed = Typed(ast.Name(name, ast.Load()), scope)
    if types.class_of_type(typed) or types.alias_of(name, scope):
        return True
    if types.is_builtin(name, scope):
        return isinstance(getattr(builtins, name, None), type)
    imported = types.name_of(typed)
    return imported in SCALARS or is_exception_name(imported)


_READ_ONLY_FORMS = {
    "list": "Sequence",
    "dict": "Mapping",
    "set": "frozenset",
    "collections.abc.Iterable": "Sequence",
    "collections.abc.Container": "Collection",
}


def _suggest_type(path: str, typed: Typed, changeable: Typed, types: TypeReader) -> str:
    """Return how to annotate a variable so that its values and everything in them are read-only."""
    if (form := make_read_only(types.expand(typed), types)) is not None:
        return f"annotate `{path}: {ast.unparse(form)}`, if the block only reads it"
    if types.name_of(types.expand(changeable)) in _USED_NOT_READ:
        return ""
    return f"{ANSWER_REMEDY}, if it only reads `{path}`"


def make_read_only(typed: Typed, types: TypeReader, depth: int = 0) -> ast.expr | None:
    """Return a type with its changeable parts made read-only; None if that is not enough."""
    if depth > MAX_DEPTH:  # an alias that refers to itself
        return None
    if types.is_read_only(typed):
        return typed.annotation
    match typed.annotation:
        case ast.Subscript(value=origin, slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            inside = [types.expand(typed.inside(part)) for part in parts]
            made = [make_read_only(part, types, depth + 1) for part in inside]
            name = _READ_ONLY_FORMS.get(types.name_of(typed))
            is_container = types.name_of(typed) in (*CONTAINERS, "typing.Optional", "typing.Union")
            written = [part for part in made if part is not None]
            if len(written) < len(made) or not (name or is_container):
                return None
            slice_ = ast.Tuple(written, ast.Load()) if len(written) > 1 else written[0]
            return ast.Subscript(ast.Name(name, ast.Load()) if name else origin, slice_, ast.Load())
    return None
