"""The variable that a name means: Python's scoping rules, read from the tree.

    def outer(k):                       NameScope("function", bindings: k, inner)
        def inner():                    NameScope("function", bindings: y, nonlocals: k)
            nonlocal k
            y = [i for i in k]          binds y; the i of a comprehension is local to it

`symtable` is not enough: from Python 3.12 on, it adds the variables of inlined comprehensions (PEP
709) to the function, and it does not know the variables that natural blocks bind. Only scopes that
enclose a block are read.

All names are stored as the compiler stores them: `__x` inside `class Box` is `_Box__x`.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from njrt.data.private_names import mangle
from njrt.data.records import record

ScopeKind = Literal["module", "class", "function", "async function", "generator", "async generator"]
FunctionDefinition = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionDefinition | ast.ClassDef
ScopeNode = ast.Module | Definition


@record
class Bindings:
    """The names that a scope's statements bind, or declare global or nonlocal."""

    bound: frozenset[str]
    globals: frozenset[str]
    nonlocals: frozenset[str]
    annotations: Mapping[str, ast.expr]
    """The first annotation of each annotated variable that is not a parameter."""
    parameters: Mapping[str, ast.expr | None]
    """A function's parameters with their annotations; `*args` and `**kwargs` have none."""
    type_parameters: frozenset[str]
    star_import: bool
    statements: Mapping[str, Sequence[ast.stmt]]
    """The statements that bind each name, as it is written, in source order."""


@dataclass(frozen=True, eq=False)
class NameScope:
    """A module, class or function that encloses a block, within the scopes that enclose it."""

    kind: ScopeKind
    name: str
    node: ScopeNode
    bindings: Bindings
    parent: NameScope | None = None

    @property
    def is_function(self) -> bool:
        """Whether the scope is a function's."""
        return self.kind not in ("module", "class")

    @property
    def is_async(self) -> bool:
        """Whether `await` is legal in the scope."""
        return self.kind in ("async function", "async generator")

    @property
    def as_home(self) -> Local:
        """The scope as the home of a name; it is not kept, because a cycle delays freeing."""
        return Local(self)

    @cached_property
    def mangling_class(self) -> str | None:
        """The name of the innermost enclosing class, even outside enclosing functions."""
        return next((scope.name for scope in self.walk_outwards() if scope.kind == "class"), None)

    @property
    def module(self) -> NameScope:
        """The module."""
        return self if self.parent is None else self.parent.module

    @property
    def signature_scope(self) -> NameScope:
        """The scope that defines the names in a function's signature."""
        return self if self.bindings.type_parameters else self.parent or self

    def walk_outwards(self) -> Iterator[NameScope]:
        """Yield the scope and all scopes around it, up to the module."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @cached_property
    def statements(self) -> Sequence[ast.stmt]:
        """The scope's statements, including nested suites, in source order."""
        return [*walk_statements(self.node.body)]

    def list_visible_names(self, outputs: BlockOutputs) -> list[str]:
        """Return the program's names that a block in scope could mean, for did-you-mean hints."""
        names: dict[str, None] = {}
        for place in self.walk_outwards():
            if place is self or place.kind != "class":
                bindings = place.bindings
                names |= dict.fromkeys(sorted(bindings.bound | outputs.get(place, set())))
                names |= dict.fromkeys(sorted(bindings.type_parameters))
        return list(names)


BlockOutputs = Mapping[NameScope, Set[str]]
"""The names that natural blocks bind directly in a scope, as the compiler stores them."""


@record
class Local:
    """The name is local to this function or class body."""

    scope: NameScope


@record
class Global:
    """The name belongs to the module or the builtins; `known` is whether the module binds it."""

    scope: NameScope
    known: bool


@record
class TypeParameter:
    """The name is a type parameter of this function or class."""

    scope: NameScope


ResolvedName = Local | Global | TypeParameter


def resolve_name(name: str, scope: NameScope, outputs: BlockOutputs) -> ResolvedName:
    """Return the home of `name`, as written, in `scope`."""
    if name.startswith("__"):
        name = mangle(name, scope.mangling_class)
    bindings = scope.bindings
    if scope.parent is not None and name in bindings.bound:  # never also global or nonlocal
        return scope.as_home
    explicit, around = False, scope
    while (place := around).parent is not None:
        around, bindings = place.parent, place.bindings
        visible = place is scope or place.is_function
        if explicit or (visible and name in bindings.globals):
            explicit = True  # so that only the module can bind it
        elif visible and name not in bindings.nonlocals and is_bound(name, place, outputs):
            return place.as_home
        elif name in bindings.type_parameters:
            return TypeParameter(place)
    return Global(place, is_bound(name, place, outputs))


def is_bound(name: str, scope: NameScope, outputs: BlockOutputs) -> bool:
    """Return whether a statement or natural block in `scope` binds the (stored) name there."""
    return name in scope.bindings.bound or name in outputs.get(scope, ())


_MODULE_NAMES = frozenset([
    "__name__", "__file__", "__doc__", "__package__", "__spec__", "__loader__", "__path__",
    "__builtins__", "__annotations__", "__debug__", "__cached__",
])  # fmt: skip


def is_defined(name: str, scope: NameScope, outputs: BlockOutputs) -> bool:
    """Return whether reading `name` in `scope` can find a value, judging by the file."""
    home = resolve_name(name, scope, outputs)
    if not isinstance(home, Global) or home.known or home.scope.bindings.star_import:
        return True
    if name in _MODULE_NAMES or name in vars(builtins):
        return True
    if name == "__class__":
        return scope.is_function and scope.mangling_class is not None
    if name in ("__qualname__", "__module__"):
        return scope.kind == "class"
    return name in list_declared(home.scope.node)[0]


@functools.lru_cache(maxsize=1)
def list_declared(module: ScopeNode) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names declared global in some scope of a module, and those global or nonlocal."""
    nodes = [node for node in ast.walk(module) if isinstance(node, ast.Global | ast.Nonlocal)]
    found = [(isinstance(node, ast.Global), name) for node in nodes for name in node.names]
    in_module = frozenset(name for is_global, name in found if is_global)
    return in_module, frozenset(name for _, name in found)


def collect_bindings(node: ScopeNode, class_name: str | None, walrus: bool = True) -> Bindings:
    """Return the bindings of a scope's statements; `walrus=False` promises no `:=` in them."""
    seen = _BindingCollector()
    _bind_statements(node.body, seen, walrus)
    parameters = _collect_parameters(node) if isinstance(node, FunctionDefinition) else {}
    declared = seen.globals | seen.nonlocals
    assigned = (seen.statements.keys() | parameters.keys()) - declared

    def stored(names: Iterable[str]) -> frozenset[str]:
        if class_name is None:
            return frozenset(names)
        return frozenset(mangle(name, class_name) for name in names)

    return Bindings(
        stored(assigned | (seen.deleted - declared)),
        stored(seen.globals),
        stored(seen.nonlocals),
        {mangle(name, class_name): annotation for name, annotation in seen.annotations.items()},
        {mangle(name, class_name): annotation for name, annotation in parameters.items()},
        stored(parameter.name for parameter in getattr(node, "type_params", ())),
        seen.star_import,
        seen.statements,
    )


def _collect_parameters(node: FunctionDefinition) -> dict[str, ast.expr | None]:
    named = {each.arg: each.annotation for each in list_named_parameters(node.args)}
    return named | {each.arg: None for each in (node.args.vararg, node.args.kwarg) if each}


def list_named_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return a function's parameters, except `*args` and `**kwargs`."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


@dataclass(slots=True)
class _BindingCollector:
    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    """The names that the current statement binds."""
    deleted: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    annotations: dict[str, ast.expr] = field(default_factory=dict)
    star_import: bool = False


def _bind_statements(body: Iterable[ast.stmt], seen: _BindingCollector, walrus: bool) -> None:
    for statement in body:
        _bind_statement(statement, seen)
        if walrus:
            _bind_walrus(list_own_expressions(statement), seen)
        for name in seen.bound:
            seen.statements.setdefault(name, []).append(statement)
        seen.bound.clear()
        for suite in list_suites(statement):
            _bind_statements(suite, seen, walrus)


def list_bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds in its scope, except in its suites and by `:=`."""
    seen = _BindingCollector()
    _bind_statement(statement, seen)
    return seen.bound


def _bind_statement(statement: ast.stmt, seen: _BindingCollector) -> None:
    match statement:
        case ast.Expr() | ast.Return() | ast.If() | ast.Pass():
            pass
        case ast.Assign(targets=targets):
            for target in targets:
                _bind_target(target, seen.bound)
        case ast.Delete(targets=targets):
            for target in targets:
                _bind_target(target, seen.deleted)
        case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, simple=1):
            seen.bound.add(name)
            seen.annotations.setdefault(name, annotation)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            _bind_target(target, seen.bound)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            _bind_target(target, seen.bound)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    _bind_target(item.optional_vars, seen.bound)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            seen.bound.add(name)
        case ast.Import(names=aliases):
            seen.bound.update(alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.ImportFrom(names=aliases):
            seen.bound.update(alias.asname or alias.name for alias in aliases if alias.name != "*")
            seen.star_import |= any(alias.name == "*" for alias in aliases)
        case ast.Global(names=names):
            seen.globals.update(names)
        case ast.Nonlocal(names=names):
            seen.nonlocals.update(names)
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            seen.bound.update(handler.name for handler in handlers if handler.name)
        case ast.Match(cases=cases):
            for case in cases:
                seen.bound.update(list_captured_names(case.pattern))
        case _ if type(statement).__name__ == "TypeAlias":  # Python 3.12
            _bind_target(statement.name, seen.bound)  # type: ignore[attr-defined]


def _bind_target(target: ast.expr, names: set[str]) -> None:
    match target:
        case ast.Name(id=name):
            names.add(name)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                _bind_target(element, names)
        case ast.Starred(value=value):
            _bind_target(value, names)


def list_captured_names(pattern: ast.pattern) -> Iterator[str]:
    """Yield the names that a `match` pattern binds."""
    for part in ast.walk(pattern):
        match part:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _bind_walrus(expressions: Iterable[ast.expr], seen: _BindingCollector) -> None:
    """Record the targets of `:=`; in a comprehension, they bind in the surrounding scope."""
    waiting: list[ast.AST] = list(expressions)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.NamedExpr):
            seen.bound.add(node.target.id)
        if isinstance(node, ast.Lambda):
            waiting += [each for each in (*node.args.defaults, *node.args.kw_defaults) if each]
        else:
            waiting += list_children(node)


def list_branches(statement: ast.If) -> list[ast.If]:
    """Return an `if` and its `elif`s, which `ast` nests, so long chains need no deep recursion."""
    chain = [statement]
    while len(chain[-1].orelse) == 1 and isinstance(inner := chain[-1].orelse[0], ast.If):
        chain.append(inner)
    return chain


_LEAVES = (ast.Name, ast.Constant)  # a name has only a context


def list_children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node; `ast.iter_child_nodes` takes almost twice as long."""
    children: list[ast.AST] = []
    for name in () if isinstance(node, _LEAVES) else node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            children.append(value)
        elif isinstance(value, list):
            children += [item for item in value if isinstance(item, ast.AST)]
    return children


def list_suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the suites of a compound statement that belong to the same scope as the statement."""
    match statement:
        case ast.Expr() | ast.Assign() | ast.Return():
            return  # most statements: the other cases take longer
        case ast.If():
            yield from (branch.body for branch in list_branches(statement))
            yield list_branches(statement)[-1].orelse
        case ast.While() | ast.For() | ast.AsyncFor():
            yield from (statement.body, statement.orelse)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield body
        case ast.Try() | ast.TryStar():
            yield statement.body
            yield from (handler.body for handler in statement.handlers)
            yield from (statement.orelse, statement.finalbody)
        case ast.Match(cases=cases):
            yield from (case.body for case in cases)


def walk_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements in a suite and in its nested suites, in source order."""
    waiting = [*body][::-1]
    while waiting:
        statement = waiting.pop()
        yield statement
        for suite in reversed(list(list_suites(statement))):
            waiting += reversed(suite)


def find_first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, including its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def list_own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the expressions of a statement that are evaluated in its scope, without its suites."""
    match statement:
        case ast.If():
            yield from (branch.test for branch in list_branches(statement))
        case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
            yield from statement.decorator_list
            yield from (each for each in (*arguments.defaults, *arguments.kw_defaults) if each)
            if not getattr(statement, "type_params", ()):
                rest = (arguments.vararg, arguments.kwarg)
                for parameter in (*list_named_parameters(arguments), *rest):
                    if parameter and parameter.annotation:
                        yield parameter.annotation
                if statement.returns:
                    yield statement.returns
        case ast.ClassDef():
            yield from (*statement.decorator_list, *statement.bases)
            yield from (keyword.value for keyword in statement.keywords)
        case ast.Try() | ast.TryStar():
            yield from (handler.type for handler in statement.handlers if handler.type)
        case ast.Match(subject=subject, cases=cases):
            yield subject
            yield from (case.guard for case in cases if case.guard)
            for case in cases:
                yield from (
                    part.value
                    for part in ast.walk(case.pattern)
                    if isinstance(part, ast.MatchValue)
                )
        case ast.With(items=items) | ast.AsyncWith(items=items):
            parts = ((item.context_expr, item.optional_vars) for item in items)
            yield from (part for both in parts for part in both if part)
        case _:
            yield from (each for each in list_children(statement) if isinstance(each, ast.expr))
