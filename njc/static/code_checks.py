"""All checks of generated code before it replaces a block; each failure is a message to the model.

    parsed -> visible, read-only, jumps, guard -> types -> bound -> questions -> in place

The first checks also apply to the code of a live model at run time; they read the block's interface
from a scope like the running block's, without values. Not detected: valid code that does not fulfil
the prompt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.json_compatibility import find_json_problem
from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.prompt_references import list_variables, parse_type
from njc.static.assignment import can_reach_end, find_unbound_at_end
from njc.static.holes import Hole
from njrt.data.private_names import mangle
from njrt.execution.checks import find_snippet_problems
from njrt.execution.guard.check import find_guard_problems, find_static_problems
from njrt.execution.scope.names import DeclaredNames
from njrt.execution.scope.opening import open_scope
from njrt.execution.scope.scope import Scope
from njrt.execution.snippet_analysis import SnippetAnalysis, analyze_snippet
from njrt.execution.tracebacks import format_syntax_error

InPlaceCheck = Callable[[str], str | None]
"""Compiles the whole file with the code in its place; returns Python's complaint, or None."""


def find_code_refusals(
    code: str, hole: Hole, types: TypeReader, in_place: InPlaceCheck
) -> tuple[str, ...]:
    """Return every reason why the code cannot fill the hole; empty if it can."""
    try:
        analysis = analyze_snippet(code, hole.class_name, 0)
    except SyntaxError as error:
        return (format_syntax_error(error),)
    except (ValueError, RecursionError, MemoryError) as error:
        return (f"the code cannot be read as Python: {error}",)
    scope = make_static_scope(hole)
    problems = list(find_snippet_problems(analysis, scope, hole.labels, hole.block.scope.is_async))
    if hole.options.policy != "open":
        private = frozenset(re.findall(r"\b_\w+", types.text))
        problems += find_guard_problems(analysis.checked_nodes, analysis.names, scope, private)
        problems += find_static_problems(analysis.nodes, analysis.names, scope)
    problems += _find_wrong_values(analysis.nodes, hole, types)
    problems += _find_foreign_names(analysis.nodes, hole)
    problems += _find_unbound_outputs(analysis.tree, hole)
    problems += _find_question_problems(analysis, hole, types)
    if not problems and (complaint := in_place(code)):
        problems.append(complaint)
    return tuple(dict.fromkeys(problems))


def make_static_scope(hole: Hole) -> Scope:
    """Return a running block's scope in this hole, with the helper but without values."""
    class_name, in_class = hole.class_name, hole.block.scope.kind == "class"
    names = [mangle(name, class_name) for name in (*hole.visible, hole.helper)]
    names += [name for name in ("__class__", hole.first_parameter) if hole.first_parameter and name]
    own = [name for name in hole.block.names if in_class and _is_bound_by_class(name, hole)]
    variables = eval(f"lambda: ({', '.join(name for name in names if name not in own)},)", {})
    return open_scope(
        DeclaredNames("", " ".join(hole.writes), class_name, hole.first_parameter, " ".join(own)),
        variables,
        ns={} if in_class else None,
    )


def _is_bound_by_class(name: str, hole: Hole) -> bool:
    scope = hole.block.scope
    bindings = scope.bindings
    stored = mangle(name, scope.mangling_class)
    return stored in bindings.bound or (
        name in hole.block.binds and stored not in bindings.globals | bindings.nonlocals
    )


def _find_unbound_outputs(tree: ast.Module, hole: Hole) -> Iterator[str]:
    if not tree.body:
        yield "there is no code"
        return
    if hole.block.binds and not can_reach_end(tree.body):
        yield (
            f"every path leaves by a jump, so `{hole.block.binds[0]}` is of no use: let the code"
            " end normally, and jump only where the instruction says so"
        )
    unbound = find_unbound_at_end(tree.body, hole.block.binds, hole.bound_before)
    unset = [path for path in hole.writes if "." in path and not _may_set(path, tree)]
    for path in (*unbound, *unset):
        yield (
            f"`{path}` must be bound on every path to the end of the code; compute it or ask for it"
            f" (`{path} = {hole.format_question(hole.types.get(path))}`)"
        )


def _may_set(path: str, tree: ast.Module) -> bool:
    """Return whether code assigns to an attribute, or gives its object to a call."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ctx=ast.Store()) if ast.unparse(node) == path:
                return True
            case ast.Call() if path.partition(".")[0] in list_variables(node):
                return True
    return False


def _find_foreign_names(nodes: Sequence[ast.AST], hole: Hole) -> Iterator[str]:
    """Yield the names that `global` or `nonlocal` shares with the program without the prompt."""
    scope, outputs = hole.block.scope, set(hole.block.binds)
    at_module = scope.kind == "module"
    shared = outputs if at_module else outputs & scope.bindings.globals
    for node in nodes:
        if not isinstance(node, ast.Global | ast.Nonlocal):
            continue
        for name in node.names:
            is_own = name not in hole.taken_here
            if isinstance(node, ast.Global):
                is_allowed = name in shared or (at_module and is_own)
            else:
                is_allowed = name in outputs or is_own
            if not is_allowed:
                yield (
                    f"line {node.lineno}: `{type(node).__name__.lower()} {name}` is refused: "
                    f"`{name}` is neither an output nor a variable of the code"
                )


# ── whether outputs are bound to values of their types ────────────────────────────────────────────


_FITTING = {"int": ("int", "float", "complex"), "float": ("float", "complex")}
"""The types that values of a builtin type fit, if there are others."""
_BUILTIN_TYPES = frozenset(
    ("str", "int", "float", "bool", "bytes", "None", "list", "dict", "set", "tuple")
)


def _find_wrong_values(nodes: Sequence[ast.AST], hole: Hole, types: TypeReader) -> Iterator[str]:
    """Check the assignments to outputs.

    Only assignments that no type checker accepts are reported: constants that a `Literal` does not
    have, and the only value of an output if it has another builtin type. The compiled file checks
    each value.
    """
    assigned = [
        ast.unparse(node) for node in nodes if isinstance(getattr(node, "ctx", 0), ast.Store)
    ]
    own = {name for name in assigned if name in hole.taken_here}
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[target], value=ast.expr() as value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ) if (path := ast.unparse(target)) in hole.types:
                declared = hole.types[path]
                wrong = _find_other_choice(value, declared)
                if (
                    not wrong
                    and assigned.count(path) == 1
                    and own.isdisjoint(list_variables(value))
                ):
                    wrong = _find_other_type(value, declared, hole, types)
                if wrong:
                    yield (
                        f"line {node.lineno}: `{path}` must be {declared}, and"
                        f" `{ast.unparse(value)}` is {wrong}; convert it, or ask for it: `{path} ="
                        f" {hole.format_question(declared)}`"
                    )


def _find_other_choice(value: ast.expr, declared: str) -> str:
    """Return "another value" for a constant that a `Literal` does not have, else an empty text."""
    match parse_type(declared), value:
        case (
            ast.Subscript(
                value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=inner
            ),
            ast.Constant(value=given),
        ):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if given not in [getattr(part, "value", given) for part in parts]:
                return "another value"
    return ""


def _find_other_type(value: ast.expr, declared: str, hole: Hole, types: TypeReader) -> str:
    """Return a value's builtin type if it is certain and does not fit, otherwise an empty text."""
    if isinstance(value, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.IfExp | ast.Subscript):
        return ""  # operators and items may have another type
    typed = types.infer(value, hole.block.scope)
    name = types.name_of(types.expand(typed)) if typed is not None else ""
    parsed = parse_type(declared)
    if parsed is None or name not in _BUILTIN_TYPES:
        return ""
    parts = types.union_parts(types.expand(Typed(parsed, hole.block.scope)))
    known = {types.name_of(types.expand(part)) for part in parts}
    is_other = known <= _BUILTIN_TYPES and known.isdisjoint(_FITTING.get(name, (name,)))
    return name if is_other else ""


# ── whether the questions that generated code asks a model at run time are well-formed ────────────


def _find_question_problems(
    analysis: SnippetAnalysis, hole: Hole, types: TypeReader
) -> Iterator[str]:
    """Check the schema of every question; types that the code itself defines may be any."""
    own = analysis.names.bound.keys()
    for node in analysis.nodes:
        if not (isinstance(node, ast.Call) and ast.unparse(node.func) == hole.helper):
            continue
        schemas = [keyword.value for keyword in node.keywords if keyword.arg == "schema"]
        for schema in [*node.args[1:2], *schemas]:
            line = f"line {node.lineno}:"
            if isinstance(schema, ast.Constant) and isinstance(schema.value, str):
                yield f"{line} the schema must be a type, not the text {schema.value!r}"
            elif own.isdisjoint(list_variables(schema)):
                problem = find_json_problem(Typed(schema, hole.block.scope), types)
                if problem is not None and problem.is_certain:
                    yield f"{line} {problem.reason}; the schema is a type such as `list[str]`"
