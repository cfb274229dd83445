"""Types that the code around a block suggests but does not annotate: only hints, never assumed.

    if done: return title        `title` is the result of the function: `-> str`
    Message(body=reply)          `reply` has the type of the field `body`
    f("..."), text.split()       the parameter `text` is a str

Not detected: types that follow from code in other files. If two differ, there is no hint.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

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

_SCALARS = ("str", "int", "float", "bool")
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


_Calls = dict[str, list[tuple[ast.Call, dict[str, ast.expr]]]]
"""The calls of functions, by name, each with the annotated parameters of the function around it."""
_Signatures = dict[str, dict[str, ast.expr]]
"""The annotated fields of classes and parameters of functions at the top of the file, in order."""


@dataclass(slots=True)
class _Uses:
    """How some code uses its variables, by name (state: the collected uses)."""

    returned: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    """Variables that the code binds again, or tests the type of: they show no type of an output."""
    needs: dict[str, set[str]] = field(default_factory=dict)
    """The attributes used of each variable, `[]` for an item and the like."""
    compared: dict[str, list[object]] = field(default_factory=dict)
    """The constants that each variable is compared with."""
    texts: set[str] = field(default_factory=set)
    """Variables on which a `str` method is called."""
    members: dict[str, str] = field(default_factory=dict)
    """The loop variable of the loop over each variable."""
    passed: dict[str, list[tuple[str, str | int]]] = field(default_factory=dict)
    """The arguments that are just the variable: the called function and the keyword or position."""


_BY_ITEMS = frozenset(
    ["len", "sum", "sorted", "max", "min", "list", "set", "tuple", "enumerate", "any", "all"]
)


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
            case ast.Name(id=name, ctx=ast.Store()):
                uses.given_up.add(name)
            case ast.Match(subject=ast.Name(id=name)):
                uses.given_up.add(name)
            case ast.Compare(left=ast.Name(id=name), comparators=values):
                for value in values:
                    items = getattr(value, "elts", (value,))
                    constants = [each.value for each in items if isinstance(each, ast.Constant)]
                    uses.compared.setdefault(name, []).extend(constants)
            case ast.For(target=ast.Name(id=member), iter=ast.Name(id=name)):
                uses.members[name] = member
            case ast.Assign(targets=[ast.Tuple() | ast.List()], value=ast.Name(id=name)):
                uses.needs.setdefault(name, set()).add("[]")
            case ast.Starred(value=ast.Name(id=name)) | ast.comprehension(iter=ast.Name(id=name)):
                uses.needs.setdefault(name, set()).add("[]")
            case ast.Subscript(value=ast.Name(id=name), slice=key):
                is_key = isinstance(key, ast.Constant) and isinstance(key.value, str)
                uses.needs.setdefault(name, set()).add("[key]" if is_key else "[]")
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                uses.needs.setdefault(name, set()).add(attribute)
                if attribute in _TEXT_METHODS:
                    uses.texts.add(name)
            case ast.Call(func=ast.Name(id=called), args=positional, keywords=keywords):
                given = [*enumerate(positional), *((each.arg, each.value) for each in keywords)]
                is_starred = any(isinstance(each, ast.Starred) for each in positional)
                for at, value in given:
                    if at is None:
                        continue
                    if isinstance(value, ast.Name) and called == "isinstance":
                        uses.given_up.add(value.id)
                    elif isinstance(value, ast.Name) and called in _BY_ITEMS:
                        uses.needs.setdefault(value.id, set()).add("[]")
                    elif isinstance(value, ast.Name) and (isinstance(at, str) or not is_starred):
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


@functools.lru_cache(maxsize=1)
def _collect_calls(module: ast.AST) -> _Calls:
    calls: _Calls = {}
    waiting: list[tuple[ast.AST, dict[str, ast.expr]]] = [(module, {})]
    while waiting:
        node, known = waiting.pop()
        if isinstance(node, FunctionDefinition):
            known = _list_annotated(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append((node, known))
        waiting += [(inner, known) for inner in list_children(node)]
    return calls


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
        if len(set(found)) == 1 and _allows_uses(found[0], name, uses):
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


_ATTRIBUTES = {kind.__name__: {*dir(kind)} for kind in (str, int, float, bool)}


def _allows_uses(type_: str, name: str, uses: _Uses) -> bool:
    """Return whether uses in code fit the type: no item of a number, no `None` for a plain text."""
    compared, needs = uses.compared.get(name, ()), uses.needs.get(name, set())
    if None in compared and "None" not in type_:
        return False
    values = set(re.findall(r"[\w-]+", type_)) if type_.startswith("Literal[") else set()
    plain = "str" if '"' in type_ else "int" if values else type_
    if plain not in _SCALARS:
        return True
    if plain != "str" and ("[]" in needs or name in uses.members):
        return False
    if "[key]" in needs or not needs - {"[]"} <= _ATTRIBUTES[plain]:
        return False
    kinds = {"str": (str,), "bool": (bool,)}.get(plain, (int, float))
    return all(isinstance(each, kinds) and (not values or str(each) in values) for each in compared)


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
    """Yield types of unannotated parameters that the block reads, from defaults, uses and calls."""
    function = block.scope.node
    if not isinstance(function, FunctionDefinition):
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(
        zip([each.arg for each in reversed(positional)], reversed(arguments.defaults), strict=False)
    )
    for position, parameter in enumerate(positional):
        name = parameter.arg
        is_read = name in block.reads and name not in block.writes
        if parameter.annotation is not None or not is_read:
            continue
        given = [_name_constant(defaults[name])] if name in defaults else []
        given += _find_arguments(block, position, name)
        found = [*given] + ["str"] * (name in _collect_uses(function).texts)
        if found and set(found) <= {"str", "int", "float", "bool"} and len(set(found)) == 1:
            start = source.get_offset(parameter.lineno, parameter.col_offset)
            end, written = start + len(name), f"{name}: {found[0]}"
            if (default := defaults.get(name)) is not None:
                first, end = source.get_span(default)
                written += f" = {source.text[first:end]}"
            yield StatedType(name, found[0], start, end, written)


def _find_arguments(block: NaturalBlock, position: int, name: str) -> Iterator[str]:
    """Yield types of the file's arguments for a top-level function's parameter; `?` if unknown."""
    if block.scope.parent is None or block.scope.parent.kind != "module":
        return
    for call, known in _collect_calls(block.scope.module.node).get(block.scope.name, ()):
        if position < len(call.args):
            yield _name_constant(call.args[position], known)
        for keyword in call.keywords:
            if keyword.arg == name:
                yield _name_constant(keyword.value, known)


def _name_constant(value: ast.expr, known: Mapping[str, ast.expr] = MappingProxyType({})) -> str:
    """Return a constant's type, or the annotation of a parameter that is passed on."""
    if isinstance(value, ast.Name) and value.id in known:
        return format_annotation(unquote(known[value.id]))
    if isinstance(value, ast.JoinedStr):
        return "str"
    return type(value.value).__name__ if isinstance(value, ast.Constant) else "?"
