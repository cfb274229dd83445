"""Definite assignment: which names are bound on every path to a point.

    if urgent:
        reply = "at once"
    elif late:
        return                leaves the code: nothing needs to be bound here
                              find_unbound_at_end(..., ["reply"])
                                  {"reply": "it is not bound when the condition in line 3 is false"}

A state is the set of names that are bound on every path to a point, or None if no path leads there.
A path such as `player.attack` counts as a name; a call with the argument `player` may have set it.

Not detected, so reported although it cannot happen: two conditions that are always equal, a loop
that always runs, a call of a function in another file that never returns. Not detected, so not
reported: names that `exec` or another function deletes, and context managers not in `_SUPPRESSING`
that suppress exceptions.
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
    walk_statements,
)
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import list_variables

BoundNames = frozenset[str] | None
NOTHING: frozenset[str] = frozenset()


def find_unbound_at_end(
    body: Sequence[ast.stmt], paths: Iterable[str], before: frozenset[str]
) -> dict[str, str]:
    """Return each path that may be unbound at the end of the code, with the condition for that.

    Nothing is unbound at an end that is never reached; see `can_reach_end`.
    """
    flow = Flow(explained=frozenset(paths))
    end = flow.follow_suite(body, before)
    if end is None:
        return {}
    return {path: flow.reasons.get(path, "it is never bound") for path in paths if path not in end}


def can_reach_end(body: Sequence[ast.stmt]) -> bool:
    """Return whether the end of the code can be reached at all."""
    return Flow().follow_suite(body, NOTHING) is not None


def find_bound_before(
    block: NaturalBlock, blocks: Sequence[NaturalBlock], module: Module
) -> frozenset[str]:
    """Return the names of the block's scope that are bound on every path to the block."""
    scope = block.scope
    within = {other.start: other for other in blocks if other.scope is scope}
    flow = Flow(module, within, target=block.start)
    flow.follow_suite(scope.node.body, frozenset(scope.bindings.parameters))
    elsewhere = scope.bindings.globals | scope.bindings.nonlocals
    return (flow.before_target or NOTHING) | elsewhere


@dataclass(slots=True)
class Flow:
    """One analysis: its subject and its results."""

    module: Module | None = None
    blocks: Mapping[int, NaturalBlock] = field(default_factory=dict)
    """The scope's natural blocks by offset; they bind their outputs."""
    target: int | None = None
    """The offset of the block before which the state is wanted."""
    before_target: frozenset[str] | None = None
    explained: frozenset[str] = NOTHING
    """The paths that can have an entry in `reasons`."""
    reasons: dict[str, str] = field(default_factory=dict)
    """When a path is not bound."""
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
        if block := find_block(statement, self.module, self.blocks):
            return self._follow_block(block, state)
        for expression in list_own_expressions(statement):
            state |= self._find_bound_by_expression(expression)
        match statement:
            case ast.If():
                return self._follow_if(statement, state)
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._follow_loop(statement, state)
            case ast.With() | ast.AsyncWith():
                return self._follow_with(statement, state)
            case ast.Try() | ast.TryStar():
                return self._follow_try(statement, state)
            case ast.Match():
                return self._follow_match(statement, state)
            case ast.Break():
                if self.breaks:  # otherwise Python will reject the program
                    self.breaks[-1].append(state)
                return None
            case (
                ast.Return() | ast.Raise() | ast.Continue() | ast.Assert(ast.Constant(value=False))
            ):
                return None
            case ast.Delete(targets=targets):
                return state - {ast.unparse(target) for target in targets}
            case ast.AnnAssign(value=None):
                return state
            case ast.Expr(value=value) if never_returns(value):
                return None
        return state | list_bound_names(statement) | _find_set_attributes(statement)

    def _follow_block(self, block: NaturalBlock, state: frozenset[str]) -> BoundNames:
        if block.start == self.target:
            self.before_target = state if self.before_target is None else self.before_target & state
        return state | frozenset(block.binds)

    def _follow_if(self, statement: ast.If, state: frozenset[str]) -> BoundNames:
        branches = list_branches(statement)
        taken = [(branch.lineno, self.follow_suite(branch.body, state)) for branch in branches]
        after = self.follow_suite(branches[-1].orelse, state)
        for line, ended in reversed(taken):
            self._record_reason(ended, after, f"the condition in line {line} is false")
            self._record_reason(after, ended, f"the condition in line {line} is true")
            after = join_states(ended, after)
        return after

    def _follow_loop(
        self, loop: ast.For | ast.AsyncFor | ast.While, state: frozenset[str]
    ) -> BoundNames:
        target = NOTHING if isinstance(loop, ast.While) else _list_target_names(loop.target)
        self.breaks.append([])
        inner = self.follow_suite(loop.body, state | target)
        if inner is not None and not inner >= state:  # the loop deletes a name bound before it
            state &= inner
            inner = self.follow_suite(loop.body, state | target)
        broken = self.breaks.pop()
        ended = None if is_endless_loop(loop) else self.follow_suite(loop.orelse, state)
        after = join_states(ended, *broken)
        reason = f"the body of the loop in line {loop.lineno} never runs"
        self._record_reason(join_states(inner, *broken), after, reason)
        return after

    def _follow_with(self, block: ast.With | ast.AsyncWith, state: frozenset[str]) -> BoundNames:
        for item in block.items:
            if item.optional_vars is not None:
                state |= _list_target_names(item.optional_vars)
        after = self.follow_suite(block.body, state)
        if not any(_suppresses(item.context_expr) for item in block.items):
            return after
        joined = join_states(_remove_deleted(state, block.body), after)
        self._record_reason(after, joined, f"the exception in line {block.lineno} is suppressed")
        return joined

    def _follow_try(self, statement: ast.Try | ast.TryStar, state: frozenset[str]) -> BoundNames:
        ended = self.follow_suite(statement.orelse, self.follow_suite(statement.body, state))
        raised = _remove_deleted(state, statement.body)
        handled: list[BoundNames] = []
        for handler in statement.handlers:
            name = {handler.name or ""}
            after = self.follow_suite(handler.body, raised | name)
            handled.append(after and after - name)  # the end of a handler unbinds its name
            self._record_reason(ended, after, f"the exception in line {handler.lineno} is caught")
        merged = join_states(ended, *handled)
        finished = self.follow_suite(statement.finalbody, raised)
        if merged is None or finished is None:
            return None
        return _remove_deleted(merged, statement.finalbody) | finished

    def _follow_match(self, statement: ast.Match, state: frozenset[str]) -> BoundNames:
        states = []
        for case in statement.cases:
            captured = state.union(list_captured_names(case.pattern))
            states.append(self.follow_suite(case.body, captured))
        last = statement.cases[-1]
        if not _is_irrefutable(last.pattern) or last.guard:
            states.append(state)
        joined = join_states(*states)
        reason = f"not every case in line {statement.lineno} binds it"
        for after in states:
            self._record_reason(after, joined, reason)
        return joined

    def _record_reason(self, has: BoundNames, lacks: BoundNames, when: str) -> None:
        """Record when a path is not bound, if it is bound otherwise."""
        if has is None or lacks is None:
            return
        for path in self.explained & (has - lacks):
            reason = when if when.startswith("not ") else f"it is not bound when {when}"
            self.reasons[path] = reason

    def _find_bound_by_expression(self, expression: ast.expr) -> frozenset[str]:
        """Return the names bound by `:=` and attribute paths that calls may set on arguments."""
        if self.module is not None and not (self.explained or self.module.source.has_walrus):
            return NOTHING
        bound = {node.target.id for node in ast.walk(expression) if isinstance(node, ast.NamedExpr)}
        dotted = [path for path in self.explained if "." in path]
        if dotted:
            calls = (node for node in ast.walk(expression) if isinstance(node, ast.Call))
            given = {name for call in calls for name in list_variables(call)}
            bound |= {path for path in dotted if path.partition(".")[0] in given}
        return frozenset(bound)


def find_block(
    statement: ast.stmt, module: Module | None, blocks: Mapping[int, NaturalBlock]
) -> NaturalBlock | None:
    """Return the natural block that a statement is, if any; `blocks` are by offset."""
    if module is None or not isinstance(statement, ast.Expr):
        return None
    if not module.can_open_block(statement.lineno, statement.lineno):
        return None
    return blocks.get(module.source.get_offset(statement.lineno, statement.col_offset))


def is_endless_loop(loop: ast.stmt) -> bool:
    """Return whether only a jump can end this loop: `while True`."""
    match loop:
        case ast.While(test=ast.Constant(value=value)):
            return bool(value)
    return False


_SUPPRESSING = frozenset({"suppress", "raises", "assertRaises", "assertRaisesRegex"})
"""The last name parts of context managers that suppress an exception."""


def _suppresses(manager: ast.expr) -> bool:
    name = ast.unparse(manager.func) if isinstance(manager, ast.Call) else ""
    return name.rpartition(".")[2] in _SUPPRESSING


def _remove_deleted(state: frozenset[str], body: Sequence[ast.stmt]) -> frozenset[str]:
    """Remove the names that a `del` in the suite may have unbound."""
    deletions = (node.targets for node in walk_statements(body) if isinstance(node, ast.Delete))
    return state - {ast.unparse(target) for targets in deletions for target in targets}


def _is_irrefutable(pattern: ast.pattern) -> bool:
    """Return whether a pattern matches every value: `_`, `name`, `_ as name`, `(pattern | _)`."""
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or _is_irrefutable(inner)
        case ast.MatchOr(patterns=patterns):
            return _is_irrefutable(patterns[-1])
    return False


def join_states(*states: BoundNames) -> BoundNames:
    """Return the names that are bound on every path."""
    reached = [state for state in states if state is not None]
    return frozenset.intersection(*reached) if reached else None


# Bindings and reads of a statement or expression.


def _list_target_names(target: ast.expr) -> frozenset[str]:
    return _find_set_attributes(target).union(list_variables(target))


def _find_set_attributes(code: ast.AST) -> frozenset[str]:
    return frozenset(
        ast.unparse(node)
        for node in ast.walk(code)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )


# Calls that never return.

_WITHOUT_END = frozenset(
    {"exit", "quit", "sys.exit", "os._exit", "os.abort", "assert_never", "typing.assert_never"}
    | {"pytest.fail", "pytest.skip", "pytest.xfail", "pytest.exit"}
    | {"self.fail", "self.skipTest", "parser.error", "parser.exit"}
)


def never_returns(value: ast.expr) -> bool:
    """Return whether a statement is a call, awaited or not, that only an exception can end."""
    call = value.value if isinstance(value, ast.Await) else value
    return isinstance(call, ast.Call) and ast.unparse(call.func) in _WITHOUT_END
