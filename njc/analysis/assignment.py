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

from njc.analysis.check import control_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.diagnostics import Diagnostic, finding
from njc.frontend.names import Local, Outputs, Scope, home_of, mangled, own_expressions, suites_of
from njc.frontend.parse import Module
from njc.frontend.source import SourceFile

_SEES_ALL = frozenset({"locals", "vars", "eval", "exec", "globals"})


def check_flow(
    module: Module, blocks: Sequence[NaturalBlock], outputs: Outputs
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
    scope: Scope,
    within: Sequence[NaturalBlock],
    blocks: Sequence[NaturalBlock],
    outputs: Outputs,
) -> Iterator[Diagnostic]:
    waiting = [
        (block, name)
        for block in within
        for name in block.binds
        if not name.startswith("_") and home_of(name, scope, outputs) == Local(scope)
    ]
    if not waiting:
        return
    last_use = _last_uses(module.source, scope, {name for _, name in waiting} | _SEES_ALL)
    if not _SEES_ALL.isdisjoint(last_use):
        return
    for block, name in waiting:
        used = last_use.get(name, 0) > block.line or (name in last_use and block.frame.in_loop)
        if not used and not _read_by_a_block(name, block, blocks, scope, outputs):
            at = next(each for each in block.references if each.writes and each.path == name)
            message = f"output `{name}` is never used afterwards"
            hint = f"use it, remove it, or call it `_{name}`"
            yield finding(module.source, "NJ204", at.start, at.end, message, hint)


_LATER = 10**9
"""The line of a use in a nested function, which may run at any time."""


def _last_uses(source: SourceFile, scope: Scope, names: Iterable[str]) -> dict[str, int]:
    """Give for each of the names that the scope's code reads the last line where it does."""
    uses: dict[str, int] = {}
    lines = _lines_with(names, source, scope)
    waiting: list[tuple[ast.AST, bool]] = [(scope.node, False)]
    while waiting:
        node, nested = waiting.pop()
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.AugAssign(target=ast.Name(id=name)):
                uses[name] = max(uses.get(name, 0), _LATER if nested else node.lineno)
            case ast.Nonlocal(names=declared) | ast.Global(names=declared):
                uses.update(dict.fromkeys(declared, _LATER))
        nested = nested or (isinstance(node, _NESTED) and node is not scope.node)
        waiting += [
            (each, nested) for each in ast.iter_child_nodes(node) if _stands_on(lines, each)
        ]
    return uses


def _lines_with(words: Iterable[str], source: SourceFile, scope: Scope) -> Sequence[int]:
    """List the lines of a scope that contain one of the words: whatever else there is need not be read."""
    first, last = _lines_of(scope.node) or (1, len(source.starts))
    if not source.text.isascii():
        return range(first, last + 1)  # a name may be written in more than one way
    start = source.starts[first - 1]
    end = source.starts[last] if last < len(source.starts) else len(source.text)
    found: set[int] = set()
    for word in words:
        at = source.text.find(word, start, end)
        while at >= 0:
            found.add(source.place(at)[0])
            at = source.text.find(word, at + len(word), end)
    return sorted(found)


def _stands_on(lines: Sequence[int], node: ast.AST) -> bool:
    """Whether a node, one without a place in any case, stands on one of the lines."""
    place = _lines_of(node)
    if place is None:
        return True
    following = bisect_left(lines, place[0])
    return following < len(lines) and lines[following] <= place[1]


def _lines_of(node: ast.AST) -> tuple[int, int] | None:
    """The first and the last line of a node, with its decorators."""
    line: int | None = getattr(node, "lineno", None)
    if line is None:
        return None
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = decorators[0].lineno if decorators else line
    return first, getattr(node, "end_lineno", None) or line


_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _read_by_a_block(
    name: str,
    writer: NaturalBlock,
    blocks: Sequence[NaturalBlock],
    scope: Scope,
    outputs: Outputs,
) -> bool:
    """Whether a block, this one only if a loop leads back to it, reads the variable."""
    for block in blocks:
        earlier = block.scope is scope and block.start <= writer.start
        if earlier and not writer.frame.in_loop:
            continue
        for each in block.references:
            mentions = each.root == name and (not each.writes or each.dotted)
            if mentions and home_of(name, block.scope, outputs) == Local(scope):
                return True
    return False


# Uses that no block may have reached: which names are bound for sure, statement by statement.

State = frozenset[str] | None
"""The names that are bound for sure; None where the program cannot get."""


@dataclass(frozen=True, slots=True)
class _Flow:
    names: frozenset[str]
    blocks: Mapping[tuple[int, int], NaturalBlock]
    unbound: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The first use of each name that may come too early: where it begins and ends."""
    breaks: list[list[State]] = field(default_factory=list)
    lines: Sequence[int] = ()
    """The lines that contain one of the names."""


def _check_unbound(
    module: Module, scope: Scope, within: Sequence[NaturalBlock]
) -> Iterator[Diagnostic]:
    bindings = scope.bindings
    elsewhere = bindings.bound | bindings.globals | bindings.nonlocals
    names = frozenset(
        name
        for block in within
        for name in block.binds
        if mangled(name, scope.mangler) not in elsewhere
    )
    if not names or bindings.star_import:
        return
    source = module.source
    placed = {(block.line, block.start): block for block in within}
    flow = _Flow(names, placed, lines=_lines_with(names, source, scope))
    _suite(module, scope.node.body, frozenset(), flow)
    for name, at in flow.unbound.items():
        message = f"`{name}` may be unbound here: there is a way past every block that binds it"
        hint = "bind it before, or use it only where the block has run"
        yield finding(source, "NJ205", *at, message, hint)


def _suite(module: Module, body: Iterable[ast.stmt], state: State, flow: _Flow) -> State:
    for statement in body:
        if state is None:
            return None
        state = _statement(module, statement, state, flow)
    return state


def _joined(*states: State) -> State:
    """What is bound whichever way the program came."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


def _statement(module: Module, statement: ast.stmt, state: frozenset[str], flow: _Flow) -> State:
    """Follow one statement from a state to the next, noting early uses."""
    if isinstance(statement, ast.Expr) and (block := _block_at(module, statement, flow)):
        return _after_block(block, state, flow)
    for expression in own_expressions(statement):
        _note_uses(module, expression, state, flow)
    match statement:
        case ast.If():
            return _joined(*(_suite(module, each, state, flow) for each in suites_of(statement)))
        case ast.For() | ast.AsyncFor() | ast.While():
            return _loop(module, statement, state, flow)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _suite(module, body, state, flow)
        case ast.Try() | ast.TryStar():
            return _try(module, statement, state, flow)
        case ast.Match(cases=cases):
            after = [_suite(module, each.body, state, flow) for each in cases]
            last = cases[-1]
            takes_all = isinstance(last.pattern, ast.MatchAs) and not last.pattern.pattern
            return _joined(*after, None if takes_all and not last.guard else state)
        case ast.Break():
            if flow.breaks:  # or Python will refuse the program
                flow.breaks[-1].append(state)
            return None
        case ast.Return() | ast.Raise() | ast.Continue():
            return None
        case ast.Expr(value=ast.Call(func=function)) if _ends_the_program(function):
            return None
    return state


_EXITS = {("", "exit"), ("", "quit"), ("sys", "exit"), ("os", "_exit"), ("os", "abort")}


def _ends_the_program(function: ast.expr) -> bool:
    match function:
        case ast.Name(id=name):
            return ("", name) in _EXITS
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return (module, name) in _EXITS
    return False


def _after_block(block: NaturalBlock, state: frozenset[str], flow: _Flow) -> State:
    for each in block.references:
        reads = each.root in flow.names and (not each.writes or each.dotted)
        if reads and each.root not in state and each.root not in block.binds:
            flow.unbound.setdefault(each.root, (each.start, each.end))
    words = {word["label"].lower() for word in control_words(block)}
    if "break" in words and "break" in block.labels and flow.breaks:
        flow.breaks[-1].append(state)
    return state | (flow.names & frozenset(block.binds))


def _loop(
    module: Module,
    loop: ast.For | ast.AsyncFor | ast.While,
    state: frozenset[str],
    flow: _Flow,
) -> State:
    endless = (
        isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and loop.test.value
    )
    flow.breaks.append([])
    _suite(module, loop.body, state, flow)
    broken = flow.breaks.pop()
    ended = None if endless else _suite(module, loop.orelse, state, flow)
    return _joined(ended, *broken)


def _try(
    module: Module, statement: ast.Try | ast.TryStar, state: frozenset[str], flow: _Flow
) -> State:
    body = _suite(module, statement.body, state, flow)
    ended = _suite(module, statement.orelse, body, flow)
    handled = [_suite(module, handler.body, state, flow) for handler in statement.handlers]
    merged = _joined(ended, *handled)
    finished = _suite(module, statement.finalbody, state, flow)
    return None if merged is None or finished is None else merged | finished


def _block_at(module: Module, statement: ast.Expr, flow: _Flow) -> NaturalBlock | None:
    if not module.may_open_in(statement.lineno, statement.lineno):
        return None
    start = module.source.offset(statement.lineno, statement.col_offset)
    return flow.blocks.get((statement.lineno, start))


def _note_uses(module: Module, expression: ast.expr, state: frozenset[str], flow: _Flow) -> None:
    missing = flow.names - state - flow.unbound.keys()
    if not missing or not _stands_on(flow.lines, expression):
        return
    for node in _read_now(expression):
        if node.id in missing and node.id not in flow.unbound:
            start = module.source.offset(node.lineno, node.col_offset)
            flow.unbound[node.id] = (start, start + len(node.id))


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _read_now(expression: ast.expr) -> Iterator[ast.Name]:
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
