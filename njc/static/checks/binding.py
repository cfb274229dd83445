"""Is a variable bound on every path? Asked of generated code, and of the program on its way to a block.

    if urgent:
        reply = "at once"
    elif late:
        return                      leaves the code: nothing need be bound here
                                    find_unbound_at_end(..., ["reply"])
                                        {"reply": "it is not bound when the condition in line 3 is false"}

A state is the set of names that are bound for sure, or None where the program cannot get. A path such as
`player.attack` counts as a name; a call that is given `player` may have set it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from njc.frontend.blocks import NaturalBlock
from njc.frontend.names import collect_bindings, list_own_expressions
from njc.frontend.parse import Module

BoundNames = frozenset[str] | None


def find_unbound_at_end(
    body: Sequence[ast.stmt], paths: Iterable[str], before: frozenset[str]
) -> dict[str, str]:
    """Name each path that the end of the code can be reached without, and say how.

    Nothing can be unbound at an end that is never reached; `can_reach_end` tells.
    """
    flow = _BindingAnalysis(frozenset(paths))
    end = _follow_suite(body, before, flow)
    if end is None:
        return {}
    return {path: flow.lost.get(path, "it is never bound") for path in paths if path not in end}


def can_reach_end(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of the code can be reached at all."""
    return _follow_suite(body, frozenset(), _BindingAnalysis(frozenset())) is not None


def find_bound_at_end(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that are bound for sure when the end of the code is reached."""
    return _follow_suite(body, frozenset(), _BindingAnalysis(frozenset())) or frozenset()


def find_bound_before(
    block: NaturalBlock, blocks: Sequence[NaturalBlock], module: Module
) -> frozenset[str]:
    """The names of the block's scope that are bound for sure when the program first comes to it."""
    scope = block.scope
    places = {
        module.source.place(each.start): frozenset(each.binds)
        for each in blocks
        if each.scope is scope
    }

    def binds(statement: ast.stmt) -> frozenset[str]:
        start = module.source.get_offset(statement.lineno, statement.col_offset)
        return places.get(module.source.place(start), frozenset())

    target = module.source.place(block.start)
    flow = _BindingAnalysis(
        frozenset(), binds, lambda statement: _locate_statement(module, statement) == target
    )
    given = frozenset(scope.bindings.parameters)
    _follow_suite(scope.node.body, given, flow)
    elsewhere = scope.bindings.globals | scope.bindings.nonlocals
    return (flow.at_target or frozenset()) | elsewhere


def _locate_statement(module: Module, statement: ast.stmt) -> tuple[int, int]:
    return module.source.place(module.source.get_offset(statement.lineno, statement.col_offset))


def _bind_nothing(statement: ast.stmt) -> frozenset[str]:
    return frozenset()


@dataclass(slots=True)
class _BindingAnalysis:
    """What is followed, and what has been seen on the way."""

    paths: frozenset[str]
    binds: Callable[[ast.stmt], frozenset[str]] = _bind_nothing
    is_target: Callable[[ast.stmt], bool] = lambda statement: False
    at_target: BoundNames = None
    lost: dict[str, str] = field(default_factory=dict)
    breaks: list[list[BoundNames]] = field(default_factory=list)


def _follow_suite(
    body: Iterable[ast.stmt], state: BoundNames, flow: _BindingAnalysis
) -> BoundNames:
    for statement in body:
        if state is None:
            return None
        state = _follow_statement(statement, state, flow)
    return state


def _follow_statement(
    statement: ast.stmt, state: frozenset[str], flow: _BindingAnalysis
) -> BoundNames:
    """Follow one statement from a state to the next."""
    for expression in list_own_expressions(statement):
        state |= _find_bound_by_expression(expression, flow)
    match statement:
        case ast.If(body=body, orelse=orelse):
            taken, other = _follow_suite(body, state, flow), _follow_suite(orelse, state, flow)
            line = statement.lineno
            _record_unbound(flow, taken, other, f"the condition in line {line} is false")
            _record_unbound(flow, other, taken, f"the condition in line {line} is true")
            return _join_states(taken, other)
        case ast.For() | ast.AsyncFor() | ast.While():
            return _follow_loop(statement, state, flow)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            return _follow_with(statement.lineno, items, body, state, flow)
        case ast.Try() | ast.TryStar():
            return _follow_try(statement, state, flow)
        case ast.Match():
            return _follow_match(statement, state, flow)
        case ast.Break():
            if flow.breaks:
                flow.breaks[-1].append(state)
            return None
        case ast.Return() | ast.Raise() | ast.Continue():
            return None
        case ast.Delete(targets=targets):
            return state - {ast.unparse(target) for target in targets}
        case ast.AnnAssign(value=None):
            return state
    if flow.is_target(statement):
        flow.at_target = state
    return (
        state
        | _find_bound_names(statement)
        | _find_set_attributes(statement)
        | flow.binds(statement)
    )


def _follow_loop(
    loop: ast.For | ast.AsyncFor | ast.While, state: frozenset[str], flow: _BindingAnalysis
) -> BoundNames:
    target = frozenset[str]() if isinstance(loop, ast.While) else _list_target_names(loop.target)
    flow.breaks.append([])
    inner = _follow_suite(loop.body, state | target, flow)
    broken = flow.breaks.pop()
    ended = None if is_endless_loop(loop) else _follow_suite(loop.orelse, state, flow)
    after = _join_states(ended, *broken)
    _record_unbound(
        flow, _join_states(inner, *broken), after, f"the loop in line {loop.lineno} has no round"
    )
    return after


def is_endless_loop(loop: ast.stmt) -> bool:
    """Whether only a jump can end this loop: `while True`."""
    return (
        isinstance(loop, ast.While)
        and isinstance(loop.test, ast.Constant)
        and bool(loop.test.value)
    )


def _follow_with(
    line: int,
    items: Sequence[ast.withitem],
    body: Sequence[ast.stmt],
    state: frozenset[str],
    flow: _BindingAnalysis,
) -> BoundNames:
    for item in items:
        if item.optional_vars is not None:
            state |= _list_target_names(item.optional_vars)
    after = _follow_suite(body, state, flow)
    if not any("suppress" in ast.unparse(item.context_expr) for item in items):
        return after
    joined = _join_states(state, after)
    _record_unbound(flow, after, joined, f"the exception in line {line} is suppressed")
    return joined


def _follow_try(
    statement: ast.Try | ast.TryStar, state: frozenset[str], flow: _BindingAnalysis
) -> BoundNames:
    ended = _follow_suite(statement.orelse, _follow_suite(statement.body, state, flow), flow)
    handled = [
        _follow_suite(each.body, state | ({each.name} if each.name else set()), flow)
        for each in statement.handlers
    ]
    for handler, after in zip(statement.handlers, handled, strict=True):
        _record_unbound(flow, ended, after, f"the exception in line {handler.lineno} is caught")
    merged = _join_states(ended, *handled)
    finished = _follow_suite(statement.finalbody, state, flow)
    return None if merged is None or finished is None else merged | finished


def _follow_match(
    statement: ast.Match, state: frozenset[str], flow: _BindingAnalysis
) -> BoundNames:
    states = []
    for case in statement.cases:
        captured = {
            name
            for part in ast.walk(case.pattern)
            for name in (getattr(part, "name", None), getattr(part, "rest", None))
            if isinstance(name, str)
        }
        states.append(_follow_suite(case.body, state | captured, flow))
    last = statement.cases[-1]
    takes_all = (
        isinstance(last.pattern, ast.MatchAs) and not last.pattern.pattern and not last.guard
    )
    if not takes_all:
        states.append(state)
    joined = _join_states(*states)
    for each in states:
        _record_unbound(flow, each, joined, f"not every case in line {statement.lineno} binds it")
    return joined


def _join_states(*states: BoundNames) -> BoundNames:
    """What is bound whichever way the program came."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


def _record_unbound(flow: _BindingAnalysis, has: BoundNames, lacks: BoundNames, when: str) -> None:
    """Remember on which way a path is not bound, if it is on another."""
    if has is None or lacks is None:
        return
    for path in flow.paths & (has - lacks):
        reason = when if when.startswith("not ") else f"it is not bound when {when}"
        flow.lost[path] = reason


def _find_bound_names(statement: ast.stmt) -> frozenset[str]:
    return collect_bindings(ast.Module([statement], []), None).bound


def _list_target_names(target: ast.expr) -> frozenset[str]:
    names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    paths = {ast.unparse(part) for part in ast.walk(target) if isinstance(part, ast.Attribute)}
    return frozenset(names | paths)


def _find_set_attributes(statement: ast.stmt) -> frozenset[str]:
    return frozenset(
        ast.unparse(node)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


def _find_bound_by_expression(expression: ast.expr, flow: _BindingAnalysis) -> frozenset[str]:
    """What `:=` binds, and the attribute paths that a call may set on what it is given."""
    bound = {node.target.id for node in ast.walk(expression) if isinstance(node, ast.NamedExpr)}
    dotted = [path for path in flow.paths if "." in path]
    if dotted:
        given = set(_list_call_arguments(expression))
        bound |= {path for path in dotted if path.partition(".")[0] in given}
    return frozenset(bound)


def _list_call_arguments(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            for part in ast.walk(node):
                if isinstance(part, ast.Name):
                    yield part.id
