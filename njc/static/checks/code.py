"""All that is checked of generated code before it may stand in a program: each failure a message to its author.

    parsed -> not the program around it -> visible, read-only, jumps, guard -> attributes -> bound -> ends
        -> questions -> in place

The first of these checks are the very ones that code of a live model goes through when it runs; they read
the block's interface from a scope like that of the running block, only without values.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from njc.frontend.names import FunctionDefinition, mangle
from njc.static.checks.attributes import find_attribute_problems
from njc.static.checks.binding import can_reach_end, find_unbound_at_end, is_endless_loop
from njc.static.checks.choices import find_choice_problems
from njc.static.checks.questions import Classes, find_question_problems
from njc.static.holes import Hole, has_own_lines, split_import
from njrt.execution.checks import find_snippet_problems
from njrt.execution.compile import analyze_snippet
from njrt.execution.guard.check import find_guard_problems
from njrt.execution.lowering import find_host_jumps
from njrt.execution.symbols import SnippetNames
from njrt.execution.tracebacks import format_syntax_error
from njrt.scope.scope import Scope, make_scope

InPlaceCheck = Callable[[str], str | None]
"""Compiles the whole file with the code in its place; says what Python complains of, or None."""


def find_code_refusals(
    code: str, gap: Hole, classes: Classes, in_place: InPlaceCheck
) -> tuple[str, ...]:
    """Give every reason why the code cannot stand in the gap; none if it can."""
    try:
        own, known = _blank_known_imports(code, gap)
        tree, nodes, names, _ = analyze_snippet(own, gap.class_name, 0)
    except SyntaxError as error:
        return (format_syntax_error(error),)
    except (ValueError, RecursionError, MemoryError) as error:
        return (f"the code cannot be read as Python: {error}",)
    if repeated := _find_repeated_host(tree, gap):
        return (repeated,)
    if called := _find_host_call(names, gap):
        return (called,)
    scope = make_static_scope(gap, known)
    problems = list(
        find_snippet_problems(tree, nodes, names, scope, gap.labels, gap.block.scope.is_async)
    )
    if gap.options.policy != "open":
        _, all_nodes, all_names, _ = analyze_snippet(code, gap.class_name, 0)
        problems += find_guard_problems(all_nodes, all_names, make_static_scope(gap))
    problems += find_attribute_problems(tree, gap.block.scope, names.bound, classes)
    problems += find_choice_problems(nodes, gap.types, _format_question_template(gap))
    problems += _find_future_imports(nodes)
    problems += _find_unbound_outputs(tree, gap)
    problems += _find_endless_loops(nodes)
    problems += find_question_problems(
        tree, gap.helper, gap.block.scope.is_async, gap.visible, classes
    )
    if not problems and (complaint := in_place(code)):
        problems.append(complaint)
    return tuple(dict.fromkeys(problems))


def _blank_known_imports(code: str, gap: Hole) -> tuple[str, list[str]]:
    """Blank the lines that import again what the head of the file imports; give the names that they bind."""
    lines, tree = code.split("\n"), ast.parse(code)
    names: list[str] = []
    for statement in tree.body:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or not has_own_lines(
            statement, tree
        ):
            continue
        found = list(split_import(statement))
        if gap.imports.issuperset(text for text, _ in found):
            names += [name for _, name in found]
            for number in range(statement.lineno, (statement.end_lineno or 0) + 1):
                lines[number - 1] = ""
    return "\n".join(lines), names


def _find_future_imports(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield f"line {node.lineno}: `from __future__` imports are for the head of the file; leave it out"


def make_static_scope(gap: Hole, imported: Sequence[str] = ()) -> Scope:
    """The scope that a running block in this gap would have, with the helper in it and without values."""
    class_name, in_class = gap.class_name, gap.block.scope.kind == "class"
    names = [mangle(name, class_name) for name in (*gap.visible, *imported, gap.helper)]
    names += [name for name in ("__class__", gap.first_parameter) if gap.first_parameter and name]
    own = [name for name in gap.block.names if in_class and _is_bound_by_class(name, gap)]
    variables = eval(f"lambda: ({', '.join(name for name in names if name not in own)},)", {})
    return make_scope(
        variables,
        writes=" ".join(gap.writes),
        cls=class_name,
        me=gap.first_parameter,
        ns={} if in_class else None,
        own=" ".join(own),
    )


def _is_bound_by_class(name: str, gap: Hole) -> bool:
    scope = gap.block.scope
    bindings = scope.bindings
    stored = mangle(name, scope.mangling_class)
    return stored in bindings.bound or (
        name in gap.block.binds and stored not in bindings.globals | bindings.nonlocals
    )


def _find_repeated_host(tree: ast.Module, gap: Hole) -> str | None:
    scope = gap.block.scope
    around = {scope.name, gap.class_name} - {"<module>", *gap.block.binds}
    for statement in tree.body:
        if isinstance(statement, FunctionDefinition | ast.ClassDef) and statement.name in around:
            return (
                f"line {statement.lineno}: write only the code that stands at the mark, "
                f"without `{statement.name}` around it"
            )
    return None


def _find_host_call(names: SnippetNames, gap: Hole) -> str | None:
    host = gap.block.scope.name
    node = names.read.get(host)
    if node is None or host in (*gap.visible, *names.bound) or not gap.block.scope.is_function:
        return None
    outputs = gap.block.binds[:1]
    example = "".join(
        f", such as `{path} = {_format_output_question(path, gap)}`" for path in outputs
    )
    return (
        f"line {getattr(node, 'lineno', 1)}: `{host}` is the function that your code is a part of: "
        f"write what it does at the mark, instead of calling it{example}"
    )


def _find_unbound_outputs(tree: ast.Module, gap: Hole) -> Iterator[str]:
    if not tree.body:
        yield "there is no code"
        return
    if gap.block.binds and not can_reach_end(tree.body):
        yield (
            f"every path leaves by a jump, so `{gap.block.binds[0]}` is of no use: let the code end normally, "
            "and jump only where the instruction says so"
        )
    for path, reason in find_unbound_at_end(tree.body, gap.writes, gap.bound_before).items():
        yield (
            f"`{path}` must be bound on every path to the end of the code, but {reason}; "
            f"compute it (`{path} = ...`) or ask for it (`{path} = {_format_output_question(path, gap)}`)"
        )


def _format_output_question(path: str, gap: Hole) -> str:
    """The question for an output, with its type."""
    question = _format_question_template(gap)
    return question.format(gap.types[path]) if path in gap.types else question.replace(", {}", "")


def _format_question_template(gap: Hole) -> str:
    """The form of a question, with `{}` for its type."""
    return f'{"await " if gap.block.scope.is_async else ""}{gap.helper}(f"...", {{}})'


def _find_endless_loops(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.While) and is_endless_loop(node) and not _has_exit(node):
            yield (
                f"line {node.lineno}: this loop would never end: "
                "give it a condition, or a `break`, `return` or `raise` in its body"
            )


def _has_exit(loop: ast.While) -> bool:
    jumps = find_host_jumps(loop.body)
    return any(isinstance(each, ast.Break | ast.Return) for each in jumps) or any(
        isinstance(each, ast.Raise | ast.Return | ast.Yield | ast.YieldFrom)
        for statement in loop.body
        for each in ast.walk(statement)
    )
