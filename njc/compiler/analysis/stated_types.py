"""Types that the code around a block suggests but does not annotate: only hints, never assumed.

    if done: return title        `title` is the result of the function: `-> str`
    Message(body=reply)          `reply` has the type of the field `body`
    text="", text.split()        the parameter `text` is a str

Not detected: types that follow from code in other files. If two differ, there is no hint.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from njc.compiler.analysis.annotations import unquote
from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.name_resolution import (
    Definition,
    FunctionDefinition,
    NameScope,
    list_children,
    list_named_parameters,
    resolve_name,
)
from njc.compiler.frontend.prompt_references import (
    Reference,
    format_annotation,
    list_variables,
    parse_type,
)
from njc.compiler.frontend.source import SourceFile
from njrt.data.records import record

_SCALARS = frozenset(("str", "int", "float", "bool"))
_TEXT_METHODS = frozenset(
    {"capitalize", "casefold", "endswith", "islower", "isupper", "lower", "lstrip", "rstrip",
     "split", "splitlines", "startswith", "strip", "title", "upper"}
)  # fmt: skip


@record
class StatedType:
    """A type that the program states for a reference or a parameter."""

    name: str
    type: str
    start: int
    end: int
    written: str
    """The replacement for the text from `start` to `end`."""


def find_type_hints(
    source: SourceFile, blocks: Sequence[NaturalBlock], types: TypeReader
) -> Iterator[Diagnostic]:
    """Report the types stated for blocks' outputs and for the parameters that they read."""
    reported: set[StatedType] = set()
    for block in blocks:
        found = [*_find_output_types(block, types), *_find_parameter_types(source, block)]
        for stated in found:
            if stated not in reported and _means_the_same(stated.type, block, types):
                reported.add(stated)
                yield _make_hint(source, stated)


def _means_the_same(type_: str, block: NaturalBlock, types: TypeReader) -> bool:
    """Return whether names in a type mean the same in the block and its function's signature."""
    scope = block.scope
    outside = scope.signature_scope if "function" in scope.kind else scope
    for name in list_variables(parse_type(type_)):
        home = resolve_name(name, scope, types.outputs)
        is_own = home == scope.as_home and types.find_definition(name, scope) == "class"
        if not is_own and home != resolve_name(name, outside, types.outputs):
            return False
    return True


def _make_hint(source: SourceFile, stated: StatedType) -> Diagnostic:
    message = f"`{stated.name}` is `{stated.type}` by the code around it, and has no annotation"
    at = (stated.start, stated.end)
    return make_diagnostic(
        source, "NJ308", *at, message, f"write `{stated.written}`", stated.written
    )


_Signatures = dict[str, dict[str, ast.expr]]
"""The annotated fields of classes and parameters of functions at the top of the file, in order."""


@dataclass(slots=True)
class _Uses:
    """How some code uses its variables, by name (state: the collected uses)."""

    returned: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    """Variables that the code binds again or tests: they show no type of an output."""
    parts: set[str] = field(default_factory=set)
    """Variables of which items or attributes are used, except methods of `str`."""
    texts: set[str] = field(default_factory=set)
    """Variables on which a `str` method is called."""
    passed: dict[str, list[tuple[str, str | int]]] = field(default_factory=dict)
    """The arguments that are just the variable: the called function and the keyword or position."""


@functools.lru_cache(maxsize=16)
def _collect_uses(code: ast.AST) -> _Uses:
    """Collect the uses in a scope's code, without the functions and classes inside."""
    uses = _Uses()
    own = [*_walk_own(code)]
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own)
    for node in own:
        match node:
            case ast.Return(value=ast.Name(id=name)) if not yields:
                uses.returned.add(name)
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Match(subject=ast.Name(id=name))
                | ast.Compare(left=ast.Name(id=name))
                | ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _])
            ):
                uses.given_up.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr=method) if method in _TEXT_METHODS:
                uses.texts.add(name)
            case (
                ast.Attribute(value=ast.Name(id=name))
                | ast.Subscript(value=ast.Name(id=name))
                | ast.Starred(value=ast.Name(id=name))
                | ast.For(iter=ast.Name(id=name))
                | ast.comprehension(iter=ast.Name(id=name))
                | ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Name(id=name))
            ):
                uses.parts.add(name)
            case ast.Call(func=ast.Name(id=called), args=positional, keywords=keywords):
                is_starred = any(isinstance(each, ast.Starred) for each in positional)
                given: list[tuple[str | int, ast.expr]] = []
                given += [] if is_starred else enumerate(positional)
                given += [(each.arg, each.value) for each in keywords if each.arg]
                for at, value in given:
                    if isinstance(value, ast.Name):
                        uses.passed.setdefault(value.id, []).append((called, at))
    return uses


def _walk_own(code: ast.AST) -> Iterator[ast.AST]:
    """Walk a scope's code, without the functions and classes inside."""
    waiting = list(getattr(code, "body", []))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Definition | ast.Lambda):
            waiting += list_children(node)


def _list_annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, ast.expr]:
    given = list_named_parameters(function.args)
    return {each.arg: each.annotation or ast.Name("Any", ast.Load()) for each in given}


@functools.lru_cache(maxsize=1)
def _collect_signatures(module: ast.AST) -> _Signatures:
    found: _Signatures = {}
    for node in getattr(module, "body", ()):
        if isinstance(node, FunctionDefinition):
            found[node.name] = _list_annotated(node)
        elif isinstance(node, ast.ClassDef):
            found[node.name] = {
                each.target.id: each.annotation
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            }
            own_init = any(
                getattr(each, "name", "") in ("__init__", "__new__") for each in node.body
            )
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            if own_init or not bases <= {"BaseModel", "NamedTuple", "TypedDict"}:
                del found[node.name]  # base class fields come first, and may have other types
    return found


# ── outputs ──────────────────────────────────────────────────────────────────────────────────────


def _find_output_types(block: NaturalBlock, types: TypeReader) -> Iterator[StatedType]:
    seen: set[str] = set()
    for reference in block.references:
        name = reference.path
        if not reference.writes or reference.is_dotted or reference.type or name in seen:
            continue
        seen.add(name)
        if block.is_fstring or types.output_type(name, block.scope) is not None:
            continue
        uses = _collect_uses(block.scope.node)
        if name in uses.given_up:
            continue
        found = [*_read_uses(block, reference, uses, types)]
        found += [*_read_passed(name, uses, block.scope.module)]
        is_whole = name not in uses.parts or not _SCALARS.issuperset(found)
        if len(set(found)) == 1 and is_whole:
            written = f"<:{name}: {found[0]}>"
            yield StatedType(name, found[0], reference.start, reference.end, written)


def _read_uses(
    block: NaturalBlock, reference: Reference, uses: _Uses, types: TypeReader
) -> Iterator[str]:
    """Yield the types that the scope's code needs: from a return, or from a `str` method."""
    scope, name = block.scope, reference.path
    returns = getattr(scope.node, "returns", None)
    if name in uses.returned and returns is not None and "function" in scope.kind:
        typed = types.expand(Typed(returns, scope.signature_scope))
        origin = types.name_of(typed).rpartition(".")[2]
        if origin not in _UNSPECIFIC and not isinstance(returns, ast.BinOp):
            yield format_annotation(unquote(returns))
    if name in uses.texts:
        yield "str"


def _read_passed(name: str, uses: _Uses, module: NameScope) -> Iterator[str]:
    """Yield annotations, without `None`, of fields and parameters that a variable is passed to."""
    for called, at in uses.passed.get(name, ()):
        parameters = _collect_signatures(module.node).get(called, {})
        key = at if isinstance(at, str) else next(iter([*parameters][at : at + 1]), "")
        if (annotation := parameters.get(key)) is not None:
            text = format_annotation(unquote(annotation))
            text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$|\s*\|\s*None$", r"\1", text)
            if text.partition("[")[0].rpartition(".")[2] not in _UNSPECIFIC:
                yield text


_UNSPECIFIC = (
    *("Any", "object", "None", "Optional", "Union", "Callable", "Self", "TypeGuard", "TypeIs"),
    *("NoReturn", "Never"),
)


# ── parameters ───────────────────────────────────────────────────────────────────────────────────


def _find_parameter_types(source: SourceFile, block: NaturalBlock) -> Iterator[StatedType]:
    """Yield types of unannotated parameters that the block reads, from defaults and uses."""
    function = block.scope.node
    if not isinstance(function, FunctionDefinition):
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(
        zip([each.arg for each in reversed(positional)], reversed(arguments.defaults), strict=False)
    )
    for parameter in positional:
        name, default = parameter.arg, defaults.get(parameter.arg)
        is_read = name in block.reads and name not in block.writes
        if parameter.annotation is not None or not is_read:
            continue
        found = {"str"} if name in _collect_uses(function).texts else set()
        if default is not None:
            found.add(type(getattr(default, "value", None)).__name__)
        if len(found) == 1 and found <= _SCALARS:
            start, (type_,) = source.get_offset(parameter.lineno, parameter.col_offset), found
            end, written = start + len(name), f"{name}: {type_}"
            if default is not None:
                first, end = source.get_span(default)
                written += f" = {source.text[first:end]}"
            yield StatedType(name, type_, start, end, written)
