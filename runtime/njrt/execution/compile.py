"""From the model's text to code that is checked, compiled and bound to the variables of its block.

    prepare("n += 1\\nif n > 3: break", scope, labels=("break",))     Snippet(...)
    prepare("m = 1", scope)                                          Refusal("line 1: `m` is ...")

    text -> tree -> names -> checks -> guard -> lowered tree -> code + the program's cells = Snippet

No code is run and no variable is changed.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Collection, Set
from functools import lru_cache, partial
from types import CellType, CodeType, TracebackType

from njrt.data.context import ContextMark
from njrt.data.options import CodePolicy
from njrt.data.outcome import UserValue
from njrt.data.records import record
from njrt.data.timeouts import DeadlineExceeded, call_with_timeout
from njrt.effects import Refusal
from njrt.execution.checks import MODULE_NAMES, find_snippet_problems
from njrt.execution.gates import carry_gated, is_used
from njrt.execution.guard.builtins import CHECKED_BUILTINS
from njrt.execution.guard.check import find_guard_problems
from njrt.execution.interruptions import select_catchable
from njrt.execution.lowering import (
    BOUND_NAME,
    CATCHABLE_NAME,
    EXIT_KIND_NAME,
    EXIT_VALUE_NAME,
    RAISED_NAME,
    ExitKind,
    ScopeLayout,
    lower_snippet,
)
from njrt.execution.normalize import normalize
from njrt.execution.parts import find_part_problems
from njrt.execution.raised import RaisedError
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.scope import Scope
from njrt.execution.snippet_analysis import SnippetAnalysis, analyze_snippet
from njrt.execution.source_cache import register_source
from njrt.execution.symbols import SnippetNames
from njrt.execution.tracebacks import format_syntax_error, is_stack_deep

MAX_CHARACTERS = 100_000
"""Longer code is refused unparsed: compiling takes more than linear time and cannot be stopped."""

_MAX_SECONDS = 10.0
"""How long checking and compiling may take."""

_MAX_CACHED_CHARACTERS = 4_000
"""Longer code is not cached."""


@record
class Snippet:
    """Code that is ready to run in its scope."""

    source: str
    scope: Scope
    code: CodeType
    closure: tuple[CellType, ...]
    raised: RaiseTracker
    exit_kind: CellType
    exit_value: CellType
    is_async: bool
    is_contained: bool = False
    """Whether it runs in a separate process."""
    labels: frozenset[str] = frozenset()
    """The jumps besides `raise` that the block lets its code make."""
    raises_mistakes: bool = False
    """Whether all its exceptions are the program's, as in static code.

    Otherwise only the ones that it raises itself are.
    """


class RaiseTracker(RaisedError):
    """Records the exception last raised by the snippet's own `raise`.

    `around` marks the items that are open around the block, which the snippet must not close.
    """

    def __init__(self) -> None:
        super().__init__()
        self.traceback: TracebackType | None = None
        self.around: ContextMark | None = None

    def start(self) -> None:
        """Record the exception being handled and the open items before the snippet runs."""
        self.around = ContextMark()
        self.handled = sys.exception()
        self.traceback = self.handled.__traceback__ if self.handled else None

    def clear(self) -> None:
        """Forget all exceptions, and reopen the items that the snippet has closed."""
        if self.around is not None:
            self.around.restore()
            self.around = None
        self.last = self.handled = self.traceback = None
        self.reraises = False


def prepare(
    source: str,
    scope: Scope,
    *,
    labels: Collection[str] = (),
    is_async: bool = False,
    policy: CodePolicy = "guarded",
    expression: bool = False,
) -> Snippet | Refusal:
    """Check and compile `source` for `scope`; with `expression` it must be a single expression.

    `labels` are the legal jumps besides `raise`, as compiled code passes them to `run`.
    """
    if policy == "contained" and scope.namespace is not None:
        return Refusal("code in a class body cannot be contained")
    if len(source) > MAX_CHARACTERS:
        return Refusal(
            f"the code has {len(source)} characters; at most {MAX_CHARACTERS} can be run"
        )
    arguments = source, scope, labels, is_async, policy, expression
    try:
        if len(source) <= _MAX_CACHED_CHARACTERS:  # it takes a few milliseconds
            return _check_and_compile(*arguments)
        return call_with_timeout(_MAX_SECONDS, partial(_check_and_compile, *arguments))
    except DeadlineExceeded:
        return Refusal(f"the code takes more than {_MAX_SECONDS:g} seconds to compile; shorten it")
    except SyntaxError as error:
        return Refusal(format_syntax_error(error))
    except (ValueError, OverflowError) as error:  # null bytes, lone surrogates, giant numbers
        return Refusal(f"the code cannot be read as Python: {error}")
    except (RecursionError, MemoryError) as error:
        if isinstance(error, RecursionError) and is_stack_deep():
            raise
        return Refusal("the code is nested too deeply; write it with fewer levels")


def _check_and_compile(
    source: str,
    scope: Scope,
    labels: Collection[str],
    is_async: bool,
    policy: CodePolicy,
    expression: bool,
) -> Snippet | Refusal:
    is_short = len(source) <= _MAX_CACHED_CHARACTERS
    analyze = analyze_snippet if is_short else analyze_snippet.__wrapped__
    analysis = analyze(source, scope.class_name, scope.future_flags)
    while (normalized := normalize(source, analysis.tree, analysis.names, scope)) != source:
        source = normalized
        analysis = analyze(source, scope.class_name, scope.future_flags)
    tree, names = analysis.tree, analysis.names
    if expression and not (len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)):
        return Refusal("this must be one expression; statements are not possible here")
    for problem in find_snippet_problems(analysis, scope, labels, is_async):
        return Refusal(problem)
    if policy != "open":
        for problem in find_part_problems(tree, scope) if scope.parts else ():
            return Refusal(problem)
        for problem in find_guard_problems(analysis.checked_nodes, names, scope):
            return Refusal(problem)
    _provide_cells(names, scope, policy)
    carried = {} if policy == "contained" else find_carried_functions(names, scope)
    compile_source = compile_snippet if is_short else compile_snippet.__wrapped__
    layout = _make_layout(analysis, scope, policy, carried.keys())
    code = compile_source(source, scope.place, layout, scope.future_flags)
    tracker, exit_kind, exit_value = RaiseTracker(), CellType(int(ExitKind.FELL_OFF)), CellType()
    private = {
        RAISED_NAME: CellType(tracker.record),
        EXIT_KIND_NAME: exit_kind,
        EXIT_VALUE_NAME: exit_value,
        BOUND_NAME: CellType(scope.note_binding),
        CATCHABLE_NAME: CellType(select_catchable),
    }
    # `super` outside a class reads a `__class__` cell, which is empty there.
    cells = scope.borrowed | scope.cells | carried | scope.scratch | private
    closure = tuple([cells.get(name) or CellType() for name in code.co_freevars])
    return Snippet(
        source,
        scope,
        code,
        closure,
        tracker,
        exit_kind,
        exit_value,
        bool(names.awaits),
        policy == "contained",
        frozenset(labels),
    )


@lru_cache(maxsize=64)
def compile_snippet(source: str, place: str, layout: ScopeLayout, future_flags: int) -> CodeType:
    """Compile a snippet for all scopes of this layout, from a fresh tree as lowering changes it."""
    new = analyze_snippet.__wrapped__(source, layout.class_name, future_flags)
    return lower_snippet(new.tree, new.names, layout, register_source(place, source), new.flags)


def _make_layout(
    analysis: SnippetAnalysis, scope: Scope, policy: CodePolicy, carried: Set[str]
) -> ScopeLayout:
    in_class = scope.namespace is not None
    names, used = analysis.names, analysis.used_names
    if scope.first_parameter and "super" in names.read:
        used = tuple(sorted({*used, scope.first_parameter}))
    held = scope.scratch.keys() | scope.cells.keys() | scope.borrowed.keys() | carried
    cells = tuple([name for name in used if name in held])
    past_namespace = (
        scope.scratch.keys() | scope.borrowed.keys() | scope.declared_nonlocal | carried
    )
    return ScopeLayout(
        class_name=scope.class_name,
        host=scope.host,
        first_parameter=scope.first_parameter,
        in_class=in_class,
        is_async=bool(names.awaits),
        cells=cells,
        nonlocals=tuple([name for name in cells if name in past_namespace]) if in_class else cells,
        bound_globals=tuple(
            [
                name
                for name in sorted(names.bound)
                if name in scope.global_names
                and name not in scope.scratch
                and name not in scope.own
            ]
        ),
        own=scope.own,
        watched=scope.watched,
    )


def _provide_cells(names: SnippetNames, scope: Scope, policy: CodePolicy) -> None:
    """Make cells for the block's own names, and for builtins that are replaced or shadowed."""
    for name in names.bound:
        if not scope.is_referenced(name):
            scope.ensure_own_cell(name)
    for name in names.read:
        if scope.is_referenced(name) or name in scope.scratch or name in scope.borrowed:
            continue
        if scope.is_lent(name):
            scope.borrowed[name] = CellType(scope.lent[name])
        elif name == "print":
            scope.borrowed[name] = CellType(scope.transcript.print)
        elif name in ("dir", "locals", "vars"):
            scope.borrowed[name] = CellType(make_lister(name, scope))
        elif policy == "guarded" and name in CHECKED_BUILTINS:
            scope.borrowed[name] = CellType(CHECKED_BUILTINS[name])
        elif name not in MODULE_NAMES and _is_shadowed(name, scope):
            scope.borrowed[name] = CellType(getattr(builtins, name))


def find_carried_functions(names: SnippetNames, scope: Scope) -> dict[str, CellType]:
    """Return cells for the gated functions that the code reads, which carry the block's gate."""
    carried = {}
    for name in names.read if is_used() else ():
        found = scope.lookup(name) if scope.is_referenced(name) else None
        if isinstance(found, Bound) and not scope.can_bind(name):
            value = carry_gated(found.value)
            if value is not found.value:
                carried[name] = CellType(value)
    return carried


def make_lister(name: str, scope: Scope) -> Callable[..., UserValue]:
    """Return a block's `dir`, `locals` or `vars`; without arguments it lists its variables."""
    builtin: Callable[..., UserValue] = getattr(builtins, name)

    def list_names(*arguments: UserValue) -> UserValue:
        if arguments:
            return builtin(*arguments)
        variables = scope.list_visible()
        return sorted(variables) if name == "dir" else variables

    list_names.__name__ = list_names.__qualname__ = name
    return list_names


def _is_shadowed(name: str, scope: Scope) -> bool:
    """Return whether a variable of the program that the block may not see hides this builtin."""
    if name in scope.module:
        return True
    namespace = scope.namespace
    return namespace is not None and (type(namespace) is not dict or name in namespace)
