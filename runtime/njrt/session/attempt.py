"""Code that was written when the program was built, with the live block behind it: the mode `auto`.

with _nj.attempt(lambda: (query, graph, answer), writes="answer", at="citations.njpy:15") as _nj_try:
    _nj_try.expect(query="str", graph="dict[int, set[int]]")       types and shapes that it was tried with
    _nj_try.guard(query.split()[0] in ("add", "quit"))              what must hold besides
    ...                                                             the code
    _nj_try.check()                                                 its outputs have their types
if _nj_try.has_failed:                          bindings and objects are as they were before
    _nj.run(..., tried=_nj_try.how)             the live block

njrt.attempts()                                 {"citations.njpy:15": Tally(made=20, unfit=1, raised=0)}

Each run stands in the accounts and in the trace: one by code as a run without calls, one by the live block
with how the code fared before it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, TypeVar

from njrt.errors import NaturalError
from njrt.events import Began, Ended
from njrt.outcome import Completed, Outcome, Raised, UserValue
from njrt.scope.scope import Bound, make_scope
from njrt.session.session import get_current_run, make_run_id
from njrt.session.settings import get_listener, get_settings
from njrt.values.shapes import has_shape
from njrt.values.snapshot import take_snapshot

Raisable = TypeVar("Raisable")
OutputTypes = Callable[[], Mapping[str, Any]]
AttemptResult = Literal["", "ran", "unfit", "raised"]
"""How an attempt ended: the code ran, its guard did not hold, it raised what it should not; or not yet."""


@dataclass(frozen=True, slots=True)
class AttemptCounts:
    """How often code was tried at one place, was not fit for the values, and raised an exception."""

    made: int = 0
    unfit: int = 0
    raised: int = 0

    @property
    def live(self) -> int:
        """How often the live block took over."""
        return self.unfit + self.raised


class UnfitError(Exception):
    """The values are not what the code was written for."""


_counts_by_place: dict[str, AttemptCounts] = {}
_counts_lock = threading.Lock()


def attempts() -> Mapping[str, AttemptCounts]:
    """Say, for each place, how its code has done in this process."""
    with _counts_lock:
        return dict(_counts_by_place)


def _count_attempt(place: str, how: AttemptResult) -> None:
    with _counts_lock:
        tally = _counts_by_place.get(place, AttemptCounts())
        _counts_by_place[place] = replace(
            tally,
            made=tally.made + 1,
            unfit=tally.unfit + (how == "unfit"),
            raised=tally.raised + (how == "raised"),
        )


class Attempt:
    """One run of such code: what must be put back, and how it ended."""

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
        self._kept = take_snapshot([each.value for each in found if isinstance(each, Bound)])
        self._meant: BaseException | None = None
        self._began = (time.time(), time.monotonic())

    @property
    def has_failed(self) -> bool:
        """Whether it is the live block's turn."""
        return self.how in ("unfit", "raised")

    def __enter__(self) -> Attempt:
        return self

    def expect(self, **shapes: str) -> None:
        """Give up before anything is done, unless each variable has its shape."""
        for name, shape in shapes.items():
            found = self._scope.lookup(name)
            self.guard(isinstance(found, Bound) and has_shape(found.value, shape))

    def guard(self, is_fit: bool = True) -> None:
        """Give up before anything is done, unless the code is fit for the values and could be undone."""
        if not is_fit or not self._kept.is_complete:
            raise UnfitError

    def check(self) -> None:
        """Give up after all, unless the outputs fit their declared types."""
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
        """Undo what was done, unless the error is the program's to see."""
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
        """Count the attempt, tell of it if no live block follows, and let go of the program's values."""
        self.how = how
        _count_attempt(self._place, how)
        if outcome is not None:
            run, tell, (at, began) = make_run_id(), get_listener(get_settings()), self._began
            tell(Began(run, at, self._place, parent=get_current_run(), tried=how))
            tell(Ended(run, time.time(), outcome, time.monotonic() - began))
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
