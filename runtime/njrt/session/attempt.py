"""Code that was written when the program was built, with the live block as its fallback: the mode `auto`.

with _nj.attempt(lambda: (query, graph, answer), writes="answer", at="citations.njpy:15") as _nj_try:
    _nj_try.expect(query="str", graph="dict[int, set[int]]")       the types and shapes that it was tested with
    _nj_try.guard(query.split()[0] in ("add", "quit"))              another condition
    ...                                                             the code
    _nj_try.check()                                                 the outputs have their types
if _nj_try.has_failed:                          bindings and objects are restored
    _nj.run(..., tried=_nj_try.how)             the live block

njrt.attempts()                                 {"citations.njpy:15": AttemptCounts(made=20, unfit=1, raised=0)}

Each run is in the accounts and in the trace: one by code as a run without calls, one by the live block
with the result of the code before it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, TypeVar

from njrt.errors import NaturalError
from njrt.events import Began, Ended, wants_states
from njrt.outcome import Completed, Outcome, Raised, UserValue
from njrt.scope.scope import Bound, make_scope
from njrt.session.session import get_current_run, make_run_id
from njrt.session.settings import get_listener, get_settings
from njrt.session.states import Observe, StateObserver, observe_nothing
from njrt.values.shapes import has_shape
from njrt.values.snapshot import take_snapshot

Raisable = TypeVar("Raisable")
OutputTypes = Callable[[], Mapping[str, Any]]
AttemptResult = Literal["", "ran", "unfit", "raised"]
"""How an attempt ended: the code ran, its guard did not hold, it failed; "" while it runs."""


@dataclass(frozen=True, slots=True)
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
    """The values are not what the code was written for."""


_counts_by_place: dict[str, AttemptCounts] = {}
_counts_lock = threading.Lock()


def attempts() -> Mapping[str, AttemptCounts]:
    """The counts of this process, by place."""
    with _counts_lock:
        return dict(_counts_by_place)


def _count_attempt(place: str, how: AttemptResult) -> None:
    with _counts_lock:
        counts = _counts_by_place.get(place, AttemptCounts())
        _counts_by_place[place] = replace(
            counts,
            made=counts.made + 1,
            unfit=counts.unfit + (how == "unfit"),
            raised=counts.raised + (how == "raised"),
        )


class Attempt:
    """One run of such code: what must be restored, and how it ended."""

    def __init__(
        self,
        variables: Callable[[], tuple[Any, ...]],
        writes: str,
        types: OutputTypes | None,
        cls: str | None,
        at: str,
    ) -> None:
        self.how: AttemptResult = ""
        self._place = at
        self._scope = make_scope(variables, writes=writes, types=types, cls=cls, at=at)
        self._before = self._scope.save_bindings()
        found = (self._scope.lookup(name) for name in self._scope.names)
        self._kept = take_snapshot([bound.value for bound in found if isinstance(bound, Bound)])
        self._meant: BaseException | None = None
        self._began = (time.time(), time.monotonic())
        observe: Observe = observe_nothing
        if wants_states(get_listener(get_settings())):
            observe = StateObserver(self._scope).observe
        self._observe, self._first_state = observe, observe()

    @property
    def has_failed(self) -> bool:
        """Whether the live block must run."""
        return self.how in ("unfit", "raised")

    def __enter__(self) -> Attempt:
        return self

    def expect(self, **shapes: str) -> None:
        """Stop before the code runs, unless each variable has its shape."""
        for name, shape in shapes.items():
            found = self._scope.lookup(name)
            self.guard(isinstance(found, Bound) and has_shape(found.value, shape))

    def guard(self, is_fit: bool = True) -> None:
        """Stop before the code runs, unless it fits the values and can be undone."""
        if not is_fit or not self._kept.is_complete:
            raise UnfitError

    def check(self) -> None:
        """Fail unless the outputs fit their declared types."""
        if misfits := self._scope.misfits():
            raise TypeError("; ".join(misfits))

    def meant(self, error: Raisable) -> Raisable | UserValue:
        """Mark an exception as the block's own, and return it."""
        self._meant = error() if isinstance(error, type) else error  # type: ignore[assignment]
        return self._meant

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Undo what the code did, unless the error is meant for the program."""
        if error is None or error is self._meant:
            self._finish("ran", Completed() if error is None else Raised(error))
            return False
        if isinstance(error, NaturalError) or not isinstance(error, Exception):
            return False
        self._kept.restore()
        self._scope.restore_bindings(self._before)
        self._finish("unfit" if isinstance(error, UnfitError) else "raised", None)
        return True

    def _finish(self, how: AttemptResult, outcome: Outcome | None) -> None:
        """Count the attempt, report it if no live block follows, and release the program's values."""
        self.how = how
        _count_attempt(self._place, how)
        if outcome is not None:
            run, listener, (at, began) = make_run_id(), get_listener(get_settings()), self._began
            parent, state = get_current_run(), self._first_state
            listener(Began(run, at, self._place, parent=parent, tried=how, state=state))
            seconds = time.monotonic() - began
            listener(Ended(run, time.time(), outcome, seconds, self._observe()))
        self._scope.close()
        self._kept, self._before, self._meant = take_snapshot(()), {}, None


def attempt(
    variables: Callable[[], tuple[Any, ...]],
    *,
    writes: str = "",
    types: OutputTypes | None = None,
    cls: str | None = None,
    at: str,
) -> Attempt:
    """Begin an attempt; the arguments are those of `run`."""
    return Attempt(variables, writes, types, cls, at)
