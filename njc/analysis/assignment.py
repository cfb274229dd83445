"""How values flow out of blocks: outputs that nothing uses, and uses that no block may have reached.

    if urgent:
        '''natural
        Write a <:reply> to <message> and a <:summary>.     NJ204  `summary` is never used
        '''
    send(reply)                                             NJ205  `reply` may be unbound here

Both look at one function (or module) at a time, and only at variables that natural blocks bind there.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from njc.analysis.check import find_control_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.frontend.names import (
    BlockOutputs,
    Local,
    NameScope,
    list_own_expressions,
    list_suites,
    mangle,
    resolve_name,
)
from njc.frontend.parse import Module
from njc.frontend.source import SourceFile

_NAMESPACE_FUNCTIONS = frozenset({"locals", "vars", "eval", "exec", "globals"})


def check_flow(
    module: Module, blocks: Sequence[NaturalBlock], outputs: BlockOutputs
) -> Iterator[Diagnostic]:
    """Check the flow of outputs in every scope that has some."""
    scopes = dict.fromkeys(block.scope for block in blocks)
    for scope in scopes:
        within = [block for block in blocks if block.scope is scope]
        if scope.is_function:
            yield from _check_unused(module, scope, within, blocks, outputs)
        if scope.kind != "class" and any(block.binds for block in within):
            yield from _check_unbound(module, scope, within)


# Outputs that nothing uses.


def _check_unused(
    module: Module,
    scope: NameScope,
    within: Sequence[NaturalBlock],
    blocks: Sequence[NaturalBlock],
    outputs: BlockOutputs,
) -> Iterator[Diagnostic]:
    waiting = [
        (block, name)
        for block in within
        for name in block.binds
        if not name.startswith("_") and resolve_name(name, scope, outputs) == Local(scope)
    ]
    if not waiting:
        return
    last_use = _find_last_uses(
        module.source, scope, {name for _, name in waiting} | _NAMESPACE_FUNCTIONS
    )
    if not _NAMESPACE_FUNCTIONS.isdisjoint(last_use):
        return
    for block, name in waiting:
        used = last_use.get(name, 0) > block.line or (name in last_use and block.frame.in_loop)
        if not used and not _is_read_by_block(name, block, blocks, scope, outputs):
            at = next(each for each in block.references if each.writes and each.path == name)
            message = f"output `{name}` is never used afterwards"
            hint = f"use it, remove it, or call it `_{name}`"
            yield make_diagnostic(module.source, "NJ204", at.start, at.end, message, hint)


_ANY_LATER_LINE = 10**9
"""The line of a use in a nested function, which may run at any time."""


def _find_last_uses(source: SourceFile, scope: NameScope, names: Iterable[str]) -> dict[str, int]:
    """Give for each of the names that the scope's code reads the last line where it does."""
    uses: dict[str, int] = {}
    lines = _find_lines_with(names, source, scope)
    waiting: list[tuple[ast.AST, bool]] = [(scope.node, False)]
    while waiting:
        node, nested = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.AugAssign(target=ast.Name(id=name)):
                uses[name] = max(uses.get(name, 0), _ANY_LATER_LINE if nested else node.lineno)
            case ast.Nonlocal(names=declared) | ast.Global(names=declared):
                uses.update(dict.fromkeys(declared, _ANY_LATER_LINE))
        nested = nested or (isinstance(node, _NESTED_SCOPES) and node is not scope.node)
        waiting += [
            (each, nested) for each in ast.iter_child_nodes(node) if _is_on_lines(lines, each)
        ]
    return uses


def _find_lines_with(words: Iterable[str], source: SourceFile, scope: NameScope) -> Sequence[int]:
    """List the lines of a scope that contain one of the words: whatever else there is need not be read."""
    first, last = _get_line_span(scope.node) or (1, len(source.line_starts))
    if not source.text.isascii():
        return range(first, last + 1)  # a name may be written in more than one way
    start = source.line_starts[first - 1]
    end = source.line_starts[last] if last < len(source.line_starts) else len(source.text)
    found: set[int] = set()
    for word in words:
        at = source.text.find(word, start, end)
        while at >= 0:
            found.add(source.place(at)[0])
            at = source.text.find(word, at + len(word), end)
    return sorted(found)


def _is_on_lines(lines: Sequence[int], node: ast.AST) -> bool:
    """Whether a node, one without a place in any case, stands on one of the lines."""
    place = _get_line_span(node)
    if place is None:
        return True
    following = bisect_left(lines, place[0])
    return following < len(lines) and lines[following] <= place[1]


def _get_line_span(node: ast.AST) -> tuple[int, int] | None:
    """The first and the last line of a node, with its decorators."""
    line: int | None = getattr(node, "lineno", None)
    if line is None:
        return None
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = decorators[0].lineno if decorators else line
    return first, getattr(node, "end_lineno", None) or line


_NESTED_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _is_read_by_block(
    name: str,
    writer: NaturalBlock,
    blocks: Sequence[NaturalBlock],
    scope: NameScope,
    outputs: BlockOutputs,
) -> bool:
    """Whether a block, this one only if a loop leads back to it, reads the variable."""
    for block in blocks:
        earlier = block.scope is scope and block.start <= writer.start
        if earlier and not writer.frame.in_loop:
            continue
        for each in block.references:
            mentions = each.root == name and (not each.writes or each.is_dotted)
            if mentions and resolve_name(name, block.scope, outputs) == Local(scope):
                return True
    return False


# Uses that no block may have reached: which names are bound for sure, statement by statement.

FlowState = frozenset[str] | None
"""The names that are bound for sure; None where the program cannot get."""


@dataclass(frozen=True, slots=True)
class _FlowContext:
    names: frozenset[str]
    blocks: Mapping[tuple[int, int], NaturalBlock]
    unbound: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The first use of each name that may come too early: where it begins and ends."""
    breaks: list[list[FlowState]] = field(default_factory=list)
    lines: Sequence[int] = ()
    """The lines that contain one of the names."""


def _check_unbound(
    module: Module, scope: NameScope, within: Sequence[NaturalBlock]
) -> Iterator[Diagnostic]:
    bindings = scope.bindings
    elsewhere = bindings.bound | bindings.globals | bindings.nonlocals
    names = frozenset(
        name
        for block in within
        for name in block.binds
        if mangle(name, scope.mangling_class) not in elsewhere
    )
    if not names or bindings.star_import:
        return
    source = module.source
    placed = {(block.line, block.start): block for block in within}
    flow = _FlowContext(names, placed, lines=_find_lines_with(names, source, scope))
    _follow_suite(module, scope.node.body, frozenset(), flow)
    for name, at in flow.unbound.items():
        message = f"`{name}` may be unbound here: there is a way past every block that binds it"
        hint = "bind it before, or use it only where the block has run"
        yield make_diagnostic(source, "NJ205", *at, message, hint)


def _follow_suite(
    module: Module, body: Iterable[ast.stmt], state: FlowState, flow: _FlowContext
) -> FlowState:
    for statement in body:
        if state is None:
            return None
        state = _follow_statement(module, statement, state, flow)
    return state


def _merge_states(*states: FlowState) -> FlowState:
    """What is bound whichever way the program came."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


def _follow_statement(
    module: Module, statement: ast.stmt, state: frozenset[str], flow: _FlowContext
) -> FlowState:
    """Follow one statement from a state to the next, noting early uses."""
    if isinstance(statement, ast.Expr) and (block := _find_block_at(module, statement, flow)):
        return _follow_block(block, state, flow)
    for expression in list_own_expressions(statement):
        _record_unbound_uses(module, expression, state, flow)
    match statement:
        case ast.If():
            return _merge_states(
                *(_follow_suite(module, each, state, flow) for each in list_suites(statement))
            )
        case ast.For() | ast.AsyncFor() | ast.While():
            return _follow_loop(module, statement, state, flow)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _follow_suite(module, body, state, flow)
        case ast.Try() | ast.TryStar():
            return _follow_try(module, statement, state, flow)
        case ast.Match(cases=cases):
            after = [_follow_suite(module, each.body, state, flow) for each in cases]
            last = cases[-1]
            takes_all = isinstance(last.pattern, ast.MatchAs) and not last.pattern.pattern
            return _merge_states(*after, None if takes_all and not last.guard else state)
        case ast.Break():
            if flow.breaks:  # or Python will refuse the program
                flow.breaks[-1].append(state)
            return None
        case ast.Return() | ast.Raise() | ast.Continue():
            return None
        case ast.Expr(value=ast.Call(func=function)) if _is_exit_call(function):
            return None
    return state


_EXIT_FUNCTIONS = {("", "exit"), ("", "quit"), ("sys", "exit"), ("os", "_exit"), ("os", "abort")}


def _is_exit_call(function: ast.expr) -> bool:
    match function:
        case ast.Name(id=name):
            return ("", name) in _EXIT_FUNCTIONS
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module, name) in _EXIT_FUNCTIONS
    return False


def _follow_block(block: NaturalBlock, state: frozenset[str], flow: _FlowContext) -> FlowState:
    for each in block.references:
        reads = each.root in flow.names and (not each.writes or each.is_dotted)
        if reads and each.root not in state and each.root not in block.binds:
            flow.unbound.setdefault(each.root, (each.start, each.end))
    words = {word["label"].lower() for word in find_control_words(block)}
    if "break" in words and "break" in block.labels and flow.breaks:
        flow.breaks[-1].append(state)
    return state | (flow.names & frozenset(block.binds))


def _follow_loop(
    module: Module,
    loop: ast.For | ast.AsyncFor | ast.While,
    state: frozenset[str],
    flow: _FlowContext,
) -> FlowState:
    endless = (
        isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value
    )
    flow.breaks.append([])
    _follow_suite(module, loop.body, state, flow)
    broken = flow.breaks.pop()
    ended = None if endless else _follow_suite(module, loop.orelse, state, flow)
    return _merge_states(ended, *broken)


def _follow_try(
    module: Module, statement: ast.Try | ast.TryStar, state: frozenset[str], flow: _FlowContext
) -> FlowState:
    body = _follow_suite(module, statement.body, state, flow)
    ended = _follow_suite(module, statement.orelse, body, flow)
    handled = [_follow_suite(module, handler.body, state, flow) for handler in statement.handlers]
    merged = _merge_states(ended, *handled)
    finished = _follow_suite(module, statement.finalbody, state, flow)
    return None if merged is None or finished is None else merged | finished


def _find_block_at(module: Module, statement: ast.Expr, flow: _FlowContext) -> NaturalBlock | None:
    if not module.can_open_block(statement.lineno, statement.lineno):
        return None
    start = module.source.get_offset(statement.lineno, statement.col_offset)
    return flow.blocks.get((statement.lineno, start))


def _record_unbound_uses(
    module: Module, expression: ast.expr, state: frozenset[str], flow: _FlowContext
) -> None:
    missing = flow.names - state - flow.unbound.keys()
    if not missing or not _is_on_lines(flow.lines, expression):
        return
    for node in _find_immediate_reads(expression):
        if node.id in missing and node.id not in flow.unbound:
            start = module.source.get_offset(node.lineno, node.col_offset)
            flow.unbound[node.id] = (start, start + len(node.id))


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _find_immediate_reads(expression: ast.expr) -> Iterator[ast.Name]:
    """Give the variables that evaluating an expression reads: nothing that a lambda does later."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(expression, frozenset())]
    while waiting:
        node, own = waiting.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in own:
                yield node
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _COMPREHENSIONS):
            targets = [part for each in node.generators for part in ast.walk(each.target)]
            own |= {part.id for part in targets if isinstance(part, ast.Name)}
        waiting += [(child, own) for child in ast.iter_child_nodes(node)]
