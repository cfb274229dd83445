"""Definite assignment: which names are bound on every path to a point.

    if urgent:
        reply = "at once"
    elif late:
        return                leaves the code: nothing needs to be bound here
                              find_unbound_at_end(..., ["reply"], frozenset())   ["reply"]

A state is the set of names that are bound on every path to a point, or None if no path leads there.

Not detected, so reported although it cannot happen: two conditions that are always equal, a loop
that always runs, a call that never returns. Not detected, so not reported: names that are deleted
in a loop, a `try` or another function, and context managers that suppress exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import (
    list_bound_names,
    list_branches,
    list_captured_names,
    list_own_expressions,
)
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import list_variables

BoundNames = frozenset[str] | None
NOTHING: frozenset[str] = frozenset()


def find_unbound_at_end(
    body: Sequence[ast.stmt], names: Iterable[str], before: frozenset[str]
) -> list[str]:
    """Return the names that may be unbound at the end of the code; none if it is never reached."""
    end = _Flow().follow_suite(body, before)
    return [] if end is None else [name for name in names if name not in end]


def can_reach_end(body: Sequence[ast.stmt]) -> bool:
    """Return whether the end of the code can be reached at all."""
    return _Flow().follow_suite(body, NOTHING) is not None


def find_bound_before(
    block: NaturalBlock, blocks: Sequence[NaturalBlock], module: Module
) -> frozenset[str]:
    """Return the names of the block's scope that are bound on every path to the block."""
    scope = block.scope
    within = {other.start: other for other in blocks if other.scope is scope}
    flow = _Flow(module, within, block.start)
    flow.follow_suite(scope.node.body, frozenset(scope.bindings.parameters))
    elsewhere = scope.bindings.globals | scope.bindings.nonlocals
    return (flow.before_target or NOTHING) | elsewhere


@dataclass(slots=True)
class _Flow:
    """One analysis: its subject and its results."""

    module: Module | None = None
    blocks: Mapping[int, NaturalBlock] = field(default_factory=dict)
    """The scope's natural blocks by offset; they bind their outputs."""
    target: int | None = None
    """The offset of the block before which the state is wanted."""
    before_target: BoundNames = None
    breaks: list[list[BoundNames]] = field(default_factory=list)
    """For each loop around the current statement, the states at its breaks."""

    def follow_suite(self, body: Iterable[ast.stmt], state: BoundNames) -> BoundNames:
        """Follow statements from a state to the state after the last statement."""
        for statement in body:
            if state is None:
                return None
            state = self._follow_statement(statement, state)
        return state

    def _follow_statement(self, statement: ast.stmt, state: frozenset[str]) -> BoundNames:
        if block := self._find_block(statement):
            if block.start == self.target:
                self.before_target = _join(self.before_target, state)
            return state.union(block.binds)
        for expression in list_own_expressions(statement):
            walked = ast.walk(expression)
            state |= {node.target.id for node in walked if isinstance(node, ast.NamedExpr)}
        match statement:
            case ast.If():
                branches = list_branches(statement)
                ends = [self.follow_suite(branch.body, state) for branch in branches]
                return _join(*ends, self.follow_suite(branches[-1].orelse, state))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._follow_loop(statement, state)
            case ast.With() | ast.AsyncWith():
                targets = [item.optional_vars for item in statement.items if item.optional_vars]
                bound = state.union(*map(list_variables, targets))
                return self.follow_suite(statement.body, bound)
            case ast.Try() | ast.TryStar():
                return self._follow_try(statement, state)
            case ast.Match():
                return self._follow_match(statement, state)
            case ast.Break():
                if self.breaks:  # otherwise Python will reject the program
                    self.breaks[-1].append(state)
                return None
            case ast.Return() | ast.Raise() | ast.Continue() | ast.Assert(ast.Constant(False)):
                return None
            case ast.Delete():
                return state - set(map(ast.unparse, statement.targets))
            case ast.AnnAssign(value=None):
                return state
        return state | list_bound_names(statement)

    def _find_block(self, statement: ast.stmt) -> NaturalBlock | None:
        line = statement.lineno
        if self.module is None or not self.module.can_open_block(line, line):
            return None
        return self.blocks.get(self.module.source.get_offset(line, statement.col_offset))

    def _follow_loop(
        self, loop: ast.For | ast.AsyncFor | ast.While, state: frozenset[str]
    ) -> BoundNames:
        target = () if isinstance(loop, ast.While) else list_variables(loop.target)
        self.breaks.append([])
        self.follow_suite(loop.body, state.union(target))
        broken = self.breaks.pop()
        is_endless = isinstance(loop, ast.While) and _is_true(loop.test)
        return _join(None if is_endless else self.follow_suite(loop.orelse, state), *broken)

    def _follow_try(self, statement: ast.Try | ast.TryStar, state: frozenset[str]) -> BoundNames:
        ended = self.follow_suite(statement.orelse, self.follow_suite(statement.body, state))
        handled: list[BoundNames] = []
        for handler in statement.handlers:
            name = {handler.name or ""}
            after = self.follow_suite(handler.body, state | name)
            handled.append(after and after - name)  # the end of a handler unbinds its name
        merged = _join(ended, *handled)
        finished = self.follow_suite(statement.finalbody, state)
        return None if merged is None or finished is None else merged | finished

    def _follow_match(self, statement: ast.Match, state: frozenset[str]) -> BoundNames:
        states = []
        for case in statement.cases:
            captured = state.union(list_captured_names(case.pattern))
            states.append(self.follow_suite(case.body, captured))
        last = statement.cases[-1]
        if not _is_irrefutable(last.pattern) or last.guard:
            states.append(state)
        return _join(*states)


def _join(*states: BoundNames) -> BoundNames:
    """Return the names that are bound on every path."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


def _is_true(condition: ast.expr) -> bool:
    return isinstance(condition, ast.Constant) and bool(condition.value)


def _is_irrefutable(pattern: ast.pattern) -> bool:
    """Return whether a pattern matches every value: `_`, `name`, `_ as name`, `(pattern | _)`."""
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or _is_irrefutable(inner)
        case ast.MatchOr(patterns=patterns):
            return _is_irrefutable(patterns[-1])
    return False
