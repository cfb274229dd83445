"""Code that was written when the program was built, with the live block as its fallback: the mode `auto`.

with _nj.attempt(
    prompt, lambda: (query, graph, answer), writes="answer", labels="break", at="citations.njpy:15"
) as _nj_try:
    _nj_try.expect(query="str", graph="dict[int, set[int]]")       the types and shapes that the code was tested on
    ...                                                             `guard`, the code, `note` before a jump, `check`
if _nj_try.has_failed:                          bindings and objects are restored
    _nj_try.run()                               the live block: with the arguments of `attempt`

Each run is in the accounts and in the trace.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar

from njrt.context import free_in_child
from njrt.errors import NaturalError
from njrt.events import Began, Ended, wants_states
from njrt.execution.contracts import make_contract
from njrt.execution.raised import RaisedError
from njrt.outcome import Completed, Outcome, Raised, UserValue
from njrt.records import record, replace
from njrt.scope.scope import Bound, make_scope
from njrt.session.block_call import VariablesLambda
from njrt.session.run_block import LiveBlock
from njrt.session.session import get_current_run, make_run_id
from njrt.session.settings import get_listener, get_settings
from njrt.session.states import Observe, StateObserver
from njrt.values.shapes import has_shape
from njrt.values.snapshot import take_snapshot

T = TypeVar("T")
AttemptResult = Literal["", "ran", "unfit", "raised"]
"""How an attempt ended: the code ran, its guard did not hold, or it failed; "" while it runs."""


@record
class AttemptCounts:
    """How often code was tried at one place, did not fit the values, and raised an exception."""

    made: int = 0
    unfit: int = 0
    raised: int = 0

    @property
    def live(self) -> int:
        """How often the live block ran instead."""
        return self.unfit + self.raised


class UnfitError(Exception):
    """The values do not fit the code."""


_counts_by_place: dict[str, AttemptCounts] = {}
_counts_lock = free_in_child(threading.RLock())


def attempts() -> Mapping[str, AttemptCounts]:
    """Return this process's counts, by place."""
    with _counts_lock:
        return dict(_counts_by_place)


class Attempt:
    """One run of such code: the state to restore, and how it ended."""

    def __init__(self, live: LiveBlock) -> None:
        self.how: AttemptResult = ""
        self._live, given = live, live.arguments
        known = {name: given[name] for name in ("writes", "types", "cls") if name in given}
        self._scope = make_scope(live.variables, **known, at=live.place)
        self._before = self._scope.save_bindings()
        self._kept = take_snapshot(self._scope.list_variables(self._scope.names).values())
        self._raised = RaisedError()
        self._asserts = False
        self._began = (time.time(), time.monotonic())
        is_watched = wants_states(get_listener(get_settings()))
        self._observe: Observe | None = None
        if is_watched:
            self._observe = StateObserver(self._scope).observe
        self._first_state = self._observe and self._observe()

    @property
    def has_failed(self) -> bool:
        """Whether the live block must run."""
        return self.how in ("unfit", "raised")

    def __enter__(self) -> Attempt:
        return self

    def expect(self, **shapes: str) -> None:
        """Stop before the code runs unless each variable has its shape."""
        for name, shape in shapes.items():
            found = self._scope.lookup(name)
            self.guard(isinstance(found, Bound) and has_shape(found.value, shape))

    def guard(self, is_fit: bool = True) -> None:
        """Stop before the code runs unless it fits the values and can be undone."""
        if not is_fit or not self._kept.is_complete:
            raise UnfitError

    def check(self) -> None:
        """Fail unless the outputs fit their declared types and the asserts after the block hold."""
        if misfits := self._scope.misfits({}):
            raise TypeError("; ".join(misfits))
        given = self._live.arguments.get
        contract = make_contract(
            given("ensures", ()), self._live.variables, given("given"), given("ns"), given("cls")
        )
        if contract is not None and (breach := contract.find_breach(lambda name, value: "...")):
            raise ValueError(str(breach))

    def meant(self, *error: T) -> T | UserValue:
        """Mark an exception (before a bare `raise`, the current one) as the block's own, and return it."""
        return self._raised.record(*error)

    def note(self, word: Literal["break", "continue", "return", "assert"]) -> bool:
        """Note a jump or a failing assert of the block; return False, for the assert."""
        self._asserts = word == "assert"
        return False

    def note_return(self, value: T) -> T:
        """Return the value; files of njc 0.2 call this."""
        return value

    def run(self) -> bool:
        """Run the live block, like `njrt.run`, instead of the code that failed."""
        return bool(self._live.run(tried=self.how))

    async def arun(self) -> bool:
        """Do the same in an `async` function, like `njrt.arun`."""
        return bool(await self._live.run(tried=self.how))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Undo the code's changes unless the error is meant for the program."""
        is_own = error is None or self._raised.is_own_error(error)
        if is_own or (self._asserts and isinstance(error, AssertionError)):
            self._finish("ran", Completed() if error is None else Raised(error))
            return False
        if isinstance(error, NaturalError) or not isinstance(error, Exception):
            return False
        self._kept.restore()
        self._scope.restore_bindings(self._before)
        how: AttemptResult = "unfit" if isinstance(error, UnfitError) else "raised"
        self._finish(how, None)
        return True

    def _finish(self, how: AttemptResult, outcome: Outcome | None) -> None:
        """Count the attempt, report it if no live block follows, and release the program's values."""
        self.how = how
        with _counts_lock:
            counts = _counts_by_place.get(self._live.place, AttemptCounts())
            changes = {} if how == "ran" else {how: getattr(counts, how) + 1}
            _counts_by_place[self._live.place] = replace(counts, made=counts.made + 1, **changes)
        if outcome is not None:
            run, listener, (at, began) = make_run_id(), get_listener(get_settings()), self._began
            parent, state = get_current_run(), self._first_state
            listener(Began(run, at, self._live.place, parent=parent, tried=how, state=state))
            seconds = time.monotonic() - began
            listener(Ended(run, time.time(), outcome, seconds, self._observe and self._observe()))
        self._scope.close()
        self._kept, self._before, self._raised = take_snapshot(()), {}, RaisedError()


def attempt(
    prompt: str,
    variables: VariablesLambda,
    *,
    at: str,
    code: str = "",
    is_async: bool = False,
    **arguments: Any,
) -> Attempt:
    """Start an attempt; `run` documents the arguments. `code` is in files of njc 0.2, and not used."""
    return Attempt(LiveBlock(prompt, variables, at, is_async, arguments))
