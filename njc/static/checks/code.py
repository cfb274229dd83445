"""All checks of generated code before it replaces a block; each failure is a message to the model.

    parsed -> not the program around it -> visible, read-only, jumps, guard -> bound -> ends
        -> questions -> in place

The first checks also apply to the code of a live model at run time; they read the block's interface
from a scope like the running block's, without values. Not detected: valid code that does not fulfil
the prompt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from njc.compiler.analysis.inference import TypeReader
from njc.compiler.analysis.json_compatibility import find_json_problem
from njc.compiler.analysis.types import Typed
from njc.compiler.frontend.name_resolution import Definition, collect_bindings
from njc.compiler.frontend.prompt_references import list_variables, parse_type
from njc.static.assignment import can_reach_end, find_unbound_at_end, is_endless_loop
from njc.static.holes import Hole, list_imports_on_own_lines, split_import
from njrt.data.private_names import mangle
from njrt.execution.checks import find_snippet_problems
from njrt.execution.guard.check import find_guard_problems, find_static_problems
from njrt.execution.lowering import find_host_jumps
from njrt.execution.scope.names import DeclaredNames
from njrt.execution.scope.opening import open_scope
from njrt.execution.scope.scope import Scope
from njrt.execution.snippet_analysis import SnippetAnalysis, analyze_snippet
from njrt.execution.symbols import SnippetNames, find_names
from njrt.execution.tracebacks import format_syntax_error

InPlaceCheck = Callable[[str], str | None]
"""Compiles the whole file with the code in its place; returns Python's complaint, or None."""


def find_code_refusals(
    code: str, hole: Hole, types: TypeReader, in_place: InPlaceCheck
) -> tuple[str, ...]:
    """Return every reason why the code cannot fill the hole; empty if it can."""
    try:
        own, known = _blank_known_imports(code, hole)
        analysis = analyze_snippet(own, hole.class_name, 0)
    except SyntaxError as error:
        return (format_syntax_error(error),)
    except (ValueError, RecursionError, MemoryError) as error:
        return (f"the code cannot be read as Python: {error}",)
    tree, nodes, names = analysis.tree, analysis.nodes, analysis.names
    if repeated := _find_repeated_host(tree, hole):
        return (repeated,)
    if called := _find_host_call(names, hole):
        return (called,)
    scope = make_static_scope(hole, known)
    problems = list(find_snippet_problems(analysis, scope, hole.labels, hole.block.scope.is_async))
    if hole.options.policy != "open":
        whole = analyze_snippet(code, hole.class_name, 0)
        static_scope = make_static_scope(hole)
        private = frozenset(re.findall(r"\b_\w+", types.text))
        problems += find_guard_problems(whole.checked_nodes, whole.names, static_scope, private)
        problems += find_static_problems(whole.nodes, whole.names, static_scope)
    problems += _find_wrong_values(nodes, hole, types)
    problems += _find_foreign_names(analysis, hole)
    problems += _find_early_reads(tree, hole)
    problems += [
        f"line {node.lineno}: `from __future__` imports are for the head of the file; leave it out"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]
    problems += _find_unbound_outputs(tree, hole)
    problems += _find_endless_loops(nodes)
    problems += _find_question_problems(analysis, hole, types)
    if not problems and (complaint := in_place(code)):
        problems.append(complaint)
    return tuple(dict.fromkeys(problems))


def _blank_known_imports(code: str, hole: Hole) -> tuple[str, list[str]]:
    """Blank imports that are already at the file's head; return also the names that they bind."""
    lines, tree = code.split("\n"), ast.parse(code)
    names: list[str] = []
    for statement in list_imports_on_own_lines(tree):
        found = list(split_import(statement))
        if hole.imports.issuperset(text for text, _ in found):
            names += [name for _, name in found]
            for number in range(statement.lineno, (statement.end_lineno or 0) + 1):
                lines[number - 1] = ""
    return "\n".join(lines), names


def make_static_scope(hole: Hole, imported: Sequence[str] = ()) -> Scope:
    """Return a running block's scope in this hole, with the helper but without values."""
    class_name, in_class = hole.class_name, hole.block.scope.kind == "class"
    names = [mangle(name, class_name) for name in (*hole.visible, *imported, hole.helper)]
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


def _find_repeated_host(tree: ast.Module, hole: Hole) -> str | None:
    scope = hole.block.scope
    around = {scope.name, hole.class_name} - {"<module>", *hole.block.binds}
    for statement in tree.body:
        if isinstance(statement, Definition) and statement.name in around:
            return (
                f"line {statement.lineno}: write only the code that stands at the mark, "
                f"without `{statement.name}` around it"
            )
    return None


def _find_host_call(names: SnippetNames, hole: Hole) -> str | None:
    host = hole.block.scope.name
    node = names.read.get(host)
    if node is None or host in (*hole.visible, *names.bound) or not hole.block.scope.is_function:
        return None
    outputs = hole.block.binds[:1]
    example = "".join(
        f", such as `{path} = {_format_output_question(path, hole)}`" for path in outputs
    )
    return (
        f"line {getattr(node, 'lineno', 1)}: `{host}` is the function that your code is a part of: "
        f"write what it does at the mark, instead of calling it{example}"
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
    for path, reason in find_unbound_at_end(tree.body, hole.writes, hole.bound_before).items():
        yield (
            f"`{path}` must be bound on every path to the end of the code, but {reason}; "
            f"compute it or ask for it (`{path} = {_format_output_question(path, hole)}`)"
        )


def _format_output_question(path: str, hole: Hole) -> str:
    question = _format_question_template(hole)
    return question.format(hole.types[path]) if path in hole.types else question.replace(", {}", "")


def _format_question_template(hole: Hole) -> str:
    """Return the form of a question, with `{}` for its type."""
    return f'{"await " if hole.block.scope.is_async else ""}{hole.helper}(f"...", {{}})'


def _find_endless_loops(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.While) and is_endless_loop(node) and not _has_exit(node):
            yield (
                f"line {node.lineno}: this loop would never end: "
                "give it a condition, or a `break`, `return` or `raise` in its body"
            )


def _has_exit(loop: ast.While) -> bool:
    jumps = find_host_jumps(loop.body)
    return any(isinstance(jump, ast.Break | ast.Return) for jump in jumps) or any(
        isinstance(node, ast.Raise | ast.Return | ast.Yield | ast.YieldFrom)
        for statement in loop.body
        for node in ast.walk(statement)
    )


# ── whether the code shares and reads only variables that it may ──────────────────────────────────


def _find_foreign_names(analysis: SnippetAnalysis, hole: Hole) -> Iterator[str]:
    """Yield the names that `global` or `nonlocal` shares with the program without the prompt."""
    scope, outputs = hole.block.scope, set(hole.block.binds)
    bindings = collect_bindings(analysis.tree, None)
    is_module = scope.kind == "module"
    shared_globals = outputs if is_module else outputs & scope.bindings.globals
    refused = (bindings.globals - shared_globals) | (bindings.nonlocals - scope.bindings.nonlocals)
    for node in analysis.nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            reaching = analysis.names.declared.get(node, ())
            own = bindings.bound | outputs if isinstance(node, ast.Nonlocal) else shared_globals
            own |= bindings.bound if is_module else set()
            for name in node.names:
                if name in refused or (name in reaching and name not in own):
                    yield (
                        f"line {node.lineno}: `{type(node).__name__.lower()} {name}` is refused: "
                        f"`{name}` is neither an output nor a variable of the code"
                    )


def _find_early_reads(tree: ast.Module, hole: Hole) -> Iterator[str]:
    """Yield the code's own variables read or deleted above each statement that binds them."""
    bindings = collect_bindings(tree, None)
    own = bindings.bound - {*hole.block.binds, *hole.visible}
    for name in sorted(own & bindings.only_deleted):
        yield f"`del {name}` fails, because the code does not bind `{name}`"
    bound: set[str] = set(bindings.only_deleted)
    for statement in tree.body:
        names = find_names(ast.Module([statement], []), None)
        early = set(names.bound)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            early = {
                node.target.id for node in ast.walk(statement) if isinstance(node, ast.NamedExpr)
            }
        for name in sorted((own & names.read.keys()) - names.nested.keys() - early - bound):
            yield f"line {statement.lineno}: `{name}` is read before it is bound"
        bound |= names.bound.keys()


# ── whether outputs are bound to values of their types ────────────────────────────────────────────


_TEXT_METHODS = {
    *("split", "rsplit", "partition", "rpartition", "splitlines", "join", "format", "replace"),
    *("strip", "lstrip", "rstrip", "lower", "upper", "title", "capitalize", "casefold"),
}
"""`str` methods that return arbitrary texts."""
_DISPLAYS = (
    (ast.List | ast.ListComp, "list"),
    (ast.Dict | ast.DictComp, "dict"),
    (ast.Set | ast.SetComp, "set"),
    (ast.Tuple, "tuple"),
)
_FITTING = {"int": ("int", "float", "complex"), "float": ("float", "complex")}
"""The types that values of a builtin type fit, if there are others."""
_BUILTIN_TYPES = frozenset(
    ("str", "int", "float", "bool", "bytes", "None", "list", "dict", "set", "tuple")
)


def _find_wrong_values(nodes: Sequence[ast.AST], hole: Hole, types: TypeReader) -> Iterator[str]:
    """Check the assignments to outputs.

    Only assignments that no type checker accepts are reported: constants and texts that a `Literal`
    does not have, and the only value of an output if it has another builtin type. The compiled file
    checks each value.
    """
    question = _format_question_template(hole)
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
                ask = f"ask for it: `{path} = {question.format(declared)}`"
                choices = _parse_choices(declared)
                if choices and (wrong := _describe_wrong_value(value, choices)):
                    of = ", ".join(map(repr, choices))
                    yield (
                        f"line {node.lineno}: `{path}` must be one of {of}, "
                        f"and {wrong}; choose among these, or {ask}"
                    )
                elif (
                    assigned.count(path) == 1
                    and own.isdisjoint(list_variables(value))
                    and (wrong := _find_other_type(value, declared, hole, types))
                ):
                    yield (
                        f"line {node.lineno}: `{path}` must be {declared}, "
                        f"and `{ast.unparse(value)}` is {wrong}; convert it, or {ask}"
                    )


def _find_other_type(value: ast.expr, declared: str, hole: Hole, types: TypeReader) -> str:
    """Return a value's builtin type if it is certain and does not fit, otherwise an empty text."""
    if isinstance(value, ast.BinOp | ast.BoolOp | ast.UnaryOp | ast.IfExp | ast.Subscript):
        return ""  # operators and items may have another type
    typed = types.infer(value, hole.block.scope)
    name = next((name for kind, name in _DISPLAYS if isinstance(value, kind)), "")
    name = name or (types.name_of(types.expand(typed)) if typed is not None else "")
    parsed = parse_type(declared)
    if parsed is None or name not in _BUILTIN_TYPES:
        return ""
    parts = types.union_parts(types.expand(Typed(parsed, hole.block.scope)))
    known = {types.name_of(types.expand(part)) for part in parts}
    is_other = known <= _BUILTIN_TYPES and known.isdisjoint(_FITTING.get(name, (name,)))
    return name if is_other else ""


def _parse_choices(type_: str) -> tuple[str, ...]:
    """Return the texts that a type allows; empty if it is not a choice among texts."""
    match parse_type(type_):
        case ast.Subscript(
            value=ast.Name(id="Literal") | ast.Attribute(attr="Literal"), slice=inner
        ):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            texts = tuple(part.value for part in parts if isinstance(part, ast.Constant))
            is_text = len(texts) == len(parts) and all(isinstance(text, str) for text in texts)
            return tuple(map(str, texts)) if is_text else ()
    return ()


def _describe_wrong_value(value: ast.expr, choices: Sequence[str]) -> str:
    match value:
        case ast.Constant(value=found) if found not in choices:
            return f"not {found!r}"
        case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            return f"`{ast.unparse(value)}` may be any text"
        case ast.Call(func=method) | ast.Subscript(value=ast.Call(func=method)) if (
            isinstance(method, ast.Attribute) and method.attr in _TEXT_METHODS
        ):
            return f"`{ast.unparse(value)}` may be any text"
    return ""


# ── whether the questions that generated code asks a model at run time are well-formed ────────────


def _find_question_problems(
    analysis: SnippetAnalysis, hole: Hole, types: TypeReader
) -> Iterator[str]:
    """Check every call of the helper; types that the code itself defines or imports may be any."""
    helper, nodes = hole.helper, analysis.nodes
    awaited = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
    dropped = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Assign | ast.Expr | ast.Return | ast.AnnAssign)
    }
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if name == helper:
                if hole.block.scope.is_async and id(node) in dropped - awaited:
                    yield (
                        f"line {node.lineno}: `{helper}(...)` must be awaited: `await"
                        f" {helper}(...)`"
                    )
                for problem in _check_call(node, hole, types, analysis.names.bound.keys()):
                    yield f"line {node.lineno}: {problem}"


def _check_call(
    call: ast.Call, hole: Hole, types: TypeReader, own: Collection[str]
) -> Iterator[str]:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= dict(zip(("prompt", "schema"), call.args, strict=False))
    if len(call.args) > 2 or given.keys() - {"prompt", "schema"} or "prompt" not in given:
        form = f"`{hole.helper}(prompt, schema)`"
        yield f"`{hole.helper}` takes a prompt and, if need be, a schema: {form}"
        return
    match given["prompt"]:
        case ast.Constant(value=str(text)):
            for name in hole.visible:
                if re.search(rf"\{{{name}\b|<{name}>", text):
                    yield (
                        f"the model would read `{name}` as a word and not its value: "
                        f"write the prompt as an f-string with {{{name}}}"
                    )
    match given.get("schema"):
        case ast.Constant(value=str(text)):
            yield f"the schema must be a type, not the text {text!r}"
        case ast.expr() as schema if not set(list_variables(schema)) & set(own):
            problem = find_json_problem(Typed(schema, hole.block.scope), types)
            if problem is not None and problem.is_certain:
                yield f"{problem.reason}; the schema is a type such as `Literal[...]`, `list[str]`"
