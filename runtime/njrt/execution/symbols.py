"""The names that a snippet binds and reads, scope by scope, by the rules of Python's compiler.

    y = [k * x for k in xs]         bound: y         read: xs, and nested: x
    def inc():
        global n                    declared: n reaches the block's own scope
        n += step                   bound: n         read, nested: n, step

`symtable` is not used because from Python 3.12 on it lists the variables of an inlined
comprehension (PEP 709) in the enclosing scope. Names are mangled, as the compiler stores them. Not
detected: names bound by `import *` (refused elsewhere) and by code that changes `globals()` or a
namespace at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from njrt.data.private_names import mangle
from njrt.data.records import record

SymbolTableKind = Literal["block", "function", "class", "comprehension", "annotation"]
Declaration = ast.Global | ast.Nonlocal
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@record
class SnippetNames:
    """The names of a snippet that its own scope, or the program around it, must provide."""

    bound: dict[str, ast.AST]
    """Names bound in the block, also by nested `global` and `nonlocal`, with the first node."""
    read: dict[str, ast.AST]
    """Names read from the block's scope or beyond it, with the first node."""
    nested: dict[str, ast.AST]
    """The names among these that nested scopes read or bind, with the first node."""
    declared: dict[Declaration, tuple[str, ...]]
    """For each `global` or `nonlocal` in a nested scope: the names that reach the block's scope."""
    hidden: dict[str, ast.AST]
    """Names in a nested `global` that are variables of a function in between."""
    awaits: list[ast.AST]
    """The awaits of the block itself."""
    yields: list[ast.AST]
    """The yields of the block itself."""


def format_line_prefix(node: ast.AST) -> str:
    """Start a message about a place in a snippet: `line 3: `."""
    return f"line {getattr(node, 'lineno', 1)}: "


@dataclass(eq=False, slots=True)
class _SymbolTable:
    kind: SymbolTableKind
    parent: _SymbolTable | None = None
    class_name: str | None = None
    bound: dict[str, ast.AST] = field(default_factory=dict)
    used: dict[str, ast.AST] = field(default_factory=dict)
    declared: dict[str, Declaration] = field(default_factory=dict)

    def leave(self, kind: SymbolTableKind) -> _SymbolTable:
        """Return the innermost table from here outwards that is not of this kind."""
        return self.parent.leave(kind) if self.kind == kind and self.parent else self

    @property
    def visible(self) -> Iterator[_SymbolTable]:
        """Yield the tables with variables that are visible from here, nearest first.

        Class bodies are skipped, except for annotations (PEP 695) directly in them.
        """
        table, place = self.parent, self.leave("annotation")
        while table is not None:
            if table.kind != "class" or table is place:
                yield table
            table = table.parent


def find_names(
    tree: ast.Module, class_name: str | None, *, lazy_annotations: bool = False
) -> SnippetNames:
    """Find the names of a snippet, inside the class `class_name` if given.

    With `lazy_annotations` (PEP 563) annotations are not evaluated, so they read no names.
    """
    collector = _NameCollector(_SymbolTable("block", class_name=class_name), lazy_annotations)
    for statement in tree.body:
        collector.visit(statement)
    return _resolve_names(collector)


def _resolve_names(collector: _NameCollector) -> SnippetNames:
    block = collector.tables[0]
    names = SnippetNames(
        bound=dict(block.bound), read=dict(block.used), nested={}, declared={}, hidden={},
        awaits=collector.awaits, yields=collector.yields,
    )  # fmt: skip
    reaching: dict[Declaration, list[str]] = {}
    for table in collector.tables[1:]:
        for name, declaration in table.declared.items():
            around = [each for each in table.visible if each is not block]
            between = [each for each in around if name in each.bound and name not in each.declared]
            if isinstance(declaration, ast.Nonlocal) and between:
                continue
            if between:
                names.hidden.setdefault(name, declaration)
            reaching.setdefault(declaration, []).append(name)
            names.nested.setdefault(name, declaration)
            if name in table.bound:
                names.bound.setdefault(name, table.bound[name])
        for name, node in table.used.items():
            if _find_owner(table, name) is block:
                names.read.setdefault(name, node)
                if table.leave("annotation") is not block:
                    names.nested.setdefault(name, node)
    names.declared.update({node: tuple(found) for node, found in reaching.items()})
    return names


def _find_owner(table: _SymbolTable, name: str) -> _SymbolTable | None:
    """Find the table that holds `name` of `table`; the block's also means the program's."""
    if name in table.bound and name not in table.declared:
        return table
    if isinstance(table.declared.get(name), ast.Global):
        return [table, *table.visible][-1]
    outer = table
    for outer in table.visible:
        if name in outer.bound and name not in outer.declared:
            return outer
    return outer


class _NameCollector(ast.NodeVisitor):
    def __init__(self, block: _SymbolTable, lazy_annotations: bool) -> None:
        self.tables = [block]
        self.table = block
        self.lazy_annotations = lazy_annotations
        self.awaits: list[ast.AST] = []
        self.yields: list[ast.AST] = []

    def bind(self, name: str, node: ast.AST, table: _SymbolTable | None = None) -> None:
        table = table or self.table
        table.bound.setdefault(mangle(name, table.class_name), node)

    def use(self, name: str, node: ast.AST) -> None:
        self.table.used.setdefault(mangle(name, self.table.class_name), node)

    def visit_all(self, *nodes: ast.AST | None) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def open_table(self, kind: SymbolTableKind, class_name: str | None = None) -> _SymbolTable:
        """Open a nested table; the caller restores `self.table`."""
        table = _SymbolTable(kind, self.table, class_name or self.table.class_name)
        self.tables.append(table)
        self.table = table
        return table

    def visit_annotation(self, node: ast.expr | None) -> None:
        if node is not None and not self.lazy_annotations:
            self.visit(node)

    @property
    def is_top_level(self) -> bool:
        """Whether this code runs as part of the block itself, as comprehensions do."""
        return self.table.leave("comprehension") is self.tables[0]

    # --- names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.use(node.id, node)
        else:
            self.bind(node.id, node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Do not walk the fields of a constant."""

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.use(node.target.id, node.target)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit_all(node.target, node.value)
        plain_local = isinstance(node.target, ast.Name) and self.table.kind != "class"
        if not plain_local and self.table.kind != "block":
            self.visit_annotation(node.annotation)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.bind(node.target.id, node, self.table.leave("comprehension"))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name.partition(".")[0], node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module != "__future__":
            self.visit_Import(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self.bind(node.name, node)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_ExceptHandler

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self.bind(node.rest, node)
        self.generic_visit(node)

    def visit_Global(self, node: Declaration) -> None:
        if self.table.kind != "block":
            for name in node.names:
                self.table.declared[mangle(name, self.table.class_name)] = node

    visit_Nonlocal = visit_Global

    # --- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bind(node.name, node)
        self.visit_all(*node.decorator_list, *node.args.defaults, *node.args.kw_defaults)
        around = self.table
        self.open_type_parameters(node)
        for argument in _list_arguments(node.args):
            self.visit_annotation(argument.annotation)
        self.visit_annotation(node.returns)
        self.visit_function(node, node.body)
        self.table = around

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all(*node.args.defaults, *node.args.kw_defaults)
        self.visit_function(node, [node.body])

    def visit_function(self, node: FunctionNode, body: list[ast.stmt] | list[ast.expr]) -> None:
        around = self.table
        self.open_table("function")
        for argument in _list_arguments(node.args):
            self.bind(argument.arg, argument)
        self.visit_all(*body)
        self.table = around

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bind(node.name, node)
        self.visit_all(*node.decorator_list)
        around = self.table
        self.open_type_parameters(node)
        self.visit_all(*node.bases, *node.keywords)
        body = self.open_table("class", node.name)
        for name in ("__module__", "__qualname__"):
            body.bound[name] = node
        self.visit_all(*node.body)
        self.table = around

    def open_type_parameters(self, node: ast.AST) -> None:
        """Open the scope of type parameters (PEP 695), if there are any."""
        parameters = getattr(node, "type_params", ())
        if parameters:
            self.open_table("annotation")
            for parameter in parameters:
                self.bind(parameter.name, parameter)
            self.visit_all(*parameters)

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """`type X[T] = value` (3.12): the value is evaluated later, in a separate scope."""
        name: ast.Name = getattr(node, "name")  # noqa: B009  (ast.TypeAlias is unknown to 3.11)
        self.visit(name)
        around = self.table
        self.open_type_parameters(node)
        self.open_table("annotation")
        self.visit(getattr(node, "value"))  # noqa: B009
        self.table = around

    def collect_comprehension(self, node: ComprehensionNode) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        around, is_top_level = self.table, self.is_top_level
        if is_top_level and any(generator.is_async for generator in node.generators):
            self.awaits.append(node)
        self.open_table("comprehension")
        self.visit_all(first.target, *first.ifs, *others)
        if isinstance(node, ast.DictComp):
            self.visit_all(node.key, node.value)
        else:
            self.visit(node.elt)
        self.table = around

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = collect_comprehension

    # --- await and yield

    def collect_wait(self, node: ast.AST) -> None:
        if self.is_top_level:
            is_yield = isinstance(node, ast.Yield | ast.YieldFrom)
            (self.yields if is_yield else self.awaits).append(node)
        self.generic_visit(node)

    visit_Await = visit_AsyncFor = visit_AsyncWith = visit_Yield = visit_YieldFrom = collect_wait


def _list_arguments(arguments: ast.arguments) -> list[ast.arg]:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return named + [rest for rest in (arguments.vararg, arguments.kwarg) if rest is not None]


def find_bound_names(part: ast.AST, class_name: str | None) -> set[str]:
    """Return the mangled names that a statement, or a part of one, binds itself, not in its body.

    A function counts as binding the names that it declares `nonlocal` or `global`, because it may
    be called.
    """
    names: set[str] = set()
    waiting = [part]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
                inner = (part for part in ast.walk(node) if isinstance(part, Declaration))
                names.update(declared for part in inner for declared in part.names)
                continue
            case ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Attribute(attr=attribute, ctx=ast.Store()):
                names.add(f".{attribute}")
            case ast.Lambda() | ast.AnnAssign(value=None):
                continue
            case ast.comprehension(iter=iterable, ifs=conditions):
                waiting += [iterable, *conditions]
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.alias(name=name, asname=asname):
                names.add(asname or name.partition(".")[0])
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
        waiting += (
            part
            for part in ast.iter_child_nodes(node)
            if not isinstance(part, ast.stmt | ast.excepthandler)
        )
    return {mangle(name, class_name) for name in names}
