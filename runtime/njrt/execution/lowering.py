"""From a snippet to a code object that runs on the program's own variables.

    y = x * 2                          def outer():
    if y > limit:                          y = tmp = x = limit = None
        break                              class Box:                   for name mangling only
    tmp = y                   ==>              global body
    tmp + 1                                    def body():              named like the host function
                                                   nonlocal y, tmp
                                                   y = x * 2
                                                   if y > limit:
                                                       return (3, None)
                                                   tmp = y
                                                   return (1, tmp + 1)

Only the code of `body` is kept; its free variables are then bound to the program's cells. Every
exit returns a pair (exit kind, value), which the snippet's own `try`, `finally` and `with` treat
like a break or continue. A class body cannot return, so there the snippet is wrapped in a loop that
runs once.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from njrt.data.private_names import mangle
from njrt.data.records import record
from njrt.execution.symbols import Declaration, SnippetNames, find_bound_names
from njrt.execution.syntax import compile_tree, parse_python

HostJump = ast.Break | ast.Continue | ast.Return


class ExitKind(enum.IntEnum):
    """How a snippet ended."""

    FELL_OFF = 0
    VALUE = 1
    RETURN = 2
    BREAK = 3
    CONTINUE = 4


# Names that are not identifiers, so no snippet can read or bind them.
RAISED_NAME = ".raised"
EXIT_KIND_NAME = ".exit_kind"
EXIT_VALUE_NAME = ".exit_value"
CATCHABLE_NAME = ".catchable"
BOUND_NAME = ".bound"


def find_host_jumps(statements: Iterable[ast.AST]) -> Iterator[HostJump]:
    """Find the jumps that act on the program, not on the snippet's own loops and functions."""
    return (found for found in find_exits(statements) if not isinstance(found, ast.Raise))


def find_exits(
    statements: Iterable[ast.AST], in_loop: bool = False
) -> Iterator[HostJump | ast.Raise]:
    """Find the same jumps as `find_host_jumps`, and the statements that raise."""
    for statement in statements:
        match statement:
            case ast.Return() | ast.Raise():
                yield statement
            case ast.Break() | ast.Continue():
                if not in_loop:
                    yield statement
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.expr():
                continue
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from find_exits(statement.body, True)
                yield from find_exits(statement.orelse, in_loop)
            case _:
                yield from find_exits(ast.iter_child_nodes(statement), in_loop)


@record
class ScopeLayout:
    """The parts of a scope that lowering needs: how code around the snippet declares its names."""

    class_name: str | None
    """The class for name mangling."""
    host: str
    """The qualified name of the code around the block."""
    first_parameter: str | None
    """The first parameter of the method, for `super()`."""
    in_class: bool
    """Whether the snippet runs in the namespace of a class body."""
    is_async: bool
    """Whether the snippet itself awaits."""
    cells: tuple[str, ...]
    """The names it uses that live in cells."""
    nonlocals: tuple[str, ...]
    """The names among these that are declared nonlocal: in a function, all of them."""
    bound_globals: tuple[str, ...]
    """The names it binds that live in the module."""
    own: frozenset[str]
    """The names that live in the class namespace."""
    watched: frozenset[str]
    """Outputs that were bound before the block ran; new bindings of them are reported."""


def lower_snippet(
    tree: ast.Module, names: SnippetNames, layout: ScopeLayout, filename: str, flags: int
) -> CodeType:
    """Compile a checked snippet; `tree` is changed."""
    jumps = {id(jump) for jump in find_host_jumps(tree.body)}
    body = _Lowerer(names, layout, jumps).lower_body(tree.body)
    if layout.in_class and jumps:
        body = [_wrap_in_loop(body)]
    # A new node takes the location of the node that it replaces, and so do its parts.
    scaffold = ast.fix_missing_locations(_build_scaffold(layout, body))
    code = compile_tree(scaffold, filename, flags)
    for _ in ("outer", "class", "body"):
        code = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return code


def _build_scaffold(layout: ScopeLayout, body: list[ast.stmt]) -> ast.Module:
    """Build the functions around the snippet that make the compiler resolve its names as needed."""
    private_class = layout.class_name or "_"  # a class named `_` mangles nothing
    inner = f"class {private_class}" if layout.in_class else "def body()"
    # The class around the body is only for mangling: `Box` still means the program's class.
    is_program_name = private_class not in layout.cells
    text = "\n".join(
        [
            "def outer():",
            f"    global {private_class}" if is_program_name else "",
            f"    {' = '.join([*layout.cells, '_'])} = None",
            f"    class {private_class}:",
            "        global body",
            f"        {'async ' if layout.is_async else ''}{inner}:",
            f"            nonlocal {', '.join([*layout.nonlocals, '_'])}",
            f"            global {', '.join(layout.bound_globals)}" if layout.bound_globals else "",
        ]
    )
    module = parse_python(text)
    for node in ast.walk(module):
        if isinstance(node, ast.stmt | ast.expr):
            # Python 3.14 gives trace functions wrong numbers for lines above their function.
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    outer = module.body[0]
    assert isinstance(outer, ast.FunctionDef)
    *_, declared, wrapper = outer.body
    assert isinstance(declared, ast.Assign)
    assert isinstance(wrapper, ast.ClassDef)
    as_global, host = wrapper.body
    assert isinstance(as_global, ast.Global)
    assert isinstance(host, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    assert isinstance(host.body[0], ast.Nonlocal)
    private = [
        RAISED_NAME, CATCHABLE_NAME, BOUND_NAME,
        *((EXIT_KIND_NAME, EXIT_VALUE_NAME) if layout.in_class else ()),
    ]  # fmt: skip
    declared.targets[-1:] = [ast.Name(name, ast.Store()) for name in private]
    host.body[0].names[-1:] = private
    # A function declared global has a bare qualified name, so its functions are `f.<locals>.g`.
    if not (layout.in_class and layout.class_name):
        host.name = layout.host or "<natural>"
    as_global.names = [host.name]
    host.body += body
    return module


class _Lowerer(ast.NodeTransformer):
    """Rewrites the snippet's own scope and nested scopes' `global` and `nonlocal` statements."""

    def __init__(self, names: SnippetNames, layout: ScopeLayout, jumps: set[int]) -> None:
        self.names = names
        self.layout = layout
        self.jumps = jumps
        self.nested = False

    def lower_body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        body: list[ast.stmt] = []
        for statement in statements:
            changed = self.visit(statement)
            body += changed if isinstance(changed, list) else [changed]
        if body and isinstance(body[-1], ast.Expr):
            last = body.pop()
            assert isinstance(last, ast.Expr)
            body += self.make_exit(ExitKind.VALUE, last.value, last)
        return body

    def make_exit(self, kind: ExitKind, value: ast.expr | None, node: ast.stmt) -> list[ast.stmt]:
        number, value = ast.Constant(int(kind)), value or ast.Constant(None)
        made: list[ast.stmt]
        if not self.layout.in_class:
            made = [ast.Return(ast.Tuple([number, value], ast.Load()))]
        elif kind is ExitKind.VALUE:
            made = [_make_assignment(EXIT_VALUE_NAME, value)]
        else:
            made = [_make_assignment(EXIT_KIND_NAME, number), ast.Break()]
        return [ast.copy_location(statement, node) for statement in made]

    def visit(self, node: ast.AST) -> Any:
        """Lower a node; report the watched outputs that it binds, with `if .bound("y"): pass`."""
        if not self.layout.watched or self.nested or not isinstance(node, ast.stmt):
            return super().visit(node)
        bound = find_bound_names(node, self.layout.class_name) & self.layout.watched
        lowered = super().visit(node)
        if not bound:
            return lowered
        report = self.make_report(bound, node)
        if isinstance(node, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith):
            node.body[:0] = report
            return lowered
        statements = lowered if isinstance(lowered, list) else [lowered]
        # A final expression gives the snippet its value, so nothing may follow it.
        return report + statements if isinstance(node, ast.Expr) else statements + report

    def make_report(self, bound: Iterable[str], node: ast.stmt) -> list[ast.stmt]:
        """Return the statements that report that names are bound."""
        calls = [_make_call(BOUND_NAME, ast.Constant(name)) for name in sorted(bound)]
        return [ast.copy_location(ast.If(call, [ast.Pass()], []), node) for call in calls]

    def visit_Name(self, node: ast.expr) -> ast.AST:
        return node

    visit_Constant = visit_Name

    def visit_Return(self, node: ast.Return) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return self.make_exit(ExitKind.RETURN, node.value, node) if id(node) in self.jumps else node

    def visit_Break(self, node: ast.Break) -> ast.AST | list[ast.stmt]:
        return self.make_exit(ExitKind.BREAK, None, node) if id(node) in self.jumps else node

    def visit_Continue(self, node: ast.Continue) -> ast.AST | list[ast.stmt]:
        return self.make_exit(ExitKind.CONTINUE, None, node) if id(node) in self.jumps else node

    def visit_Raise(self, node: ast.Raise) -> ast.AST | list[ast.stmt]:
        """`raise error` -> `raise .raised(error)`, which records the exception as the block's."""
        self.generic_visit(node)
        if self.nested:
            return node
        if node.exc:
            node.exc = ast.copy_location(_make_call(RAISED_NAME, node.exc), node.exc)
            return node
        return [ast.copy_location(ast.Expr(_make_call(RAISED_NAME)), node), node]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """`except KINDS:` -> `except .catchable(KINDS):`, but not for exceptions from outside."""
        self.generic_visit(node)
        kinds = [node.type] if node.type else []
        node.type = ast.copy_location(_make_call(CATCHABLE_NAME, *kinds), node.type or node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Drop a variable's annotation: an annotated name can be neither nonlocal nor global."""
        self.generic_visit(node)
        own = isinstance(node.target, ast.Name) and node.target.id in self.layout.own
        if self.nested or (self.layout.in_class and own):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if node.module == "__future__" else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`super()` -> `super(__class__, self)`: the code lacks a first argument for `super()`."""
        self.generic_visit(node)
        is_ours = is_bare_super(node) and "super" not in self.names.bound and not self.nested
        if is_ours and self.layout.first_parameter:
            pair = ("__class__", self.layout.first_parameter)
            node.args = [ast.Name(name, ast.Load()) for name in pair]
        return node

    def visit_Global(self, node: Declaration) -> ast.AST | list[ast.stmt]:
        if not self.nested:
            return ast.copy_location(ast.Pass(), node)
        reaching = self.names.declared.get(node, ())
        in_globals = [name for name in reaching if name not in self.layout.cells]
        in_cells = [name for name in reaching if name in self.layout.cells]
        class_name = self.layout.class_name
        stay = [name for name in node.names if mangle(name, class_name) not in reaching]
        statements: list[ast.stmt] = [ast.Global(in_globals)] if in_globals else []
        statements += [ast.Nonlocal(in_cells + stay)] if in_cells or stay else []
        return [ast.copy_location(statement, node) for statement in statements]

    visit_Nonlocal = visit_Global

    def visit_nested(self, node: ast.AST) -> ast.AST:
        around, self.nested = self.nested, True
        self.generic_visit(node)
        self.nested = around
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_nested


def is_bare_super(node: ast.AST) -> bool:
    """Return whether this is `super()` without arguments."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def _wrap_in_loop(body: list[ast.stmt]) -> ast.While:
    """`while True: BODY; .exit_kind = 0; break`: a loop that a class body's jumps can leave."""
    fell_off = _make_assignment(EXIT_KIND_NAME, ast.Constant(int(ExitKind.FELL_OFF)))
    return ast.While(ast.Constant(True), [*body, fell_off, ast.Break()], [])


def _make_assignment(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _make_call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])
