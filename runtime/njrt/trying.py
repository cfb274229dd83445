"""Code that was written when the program was built, with the live block behind it: the mode `auto`.

_nj_try = _nj.attempt(lambda: (query, graph, answer), writes="answer", at="citations.njpy:15")
try:
    _nj_try.guard(isinstance(query, str) and query != "")
    ...                                         the code
except Exception as _nj_error:
    if not _nj_try.failed_by(_nj_error):        bindings and objects are put back, and counted
        raise                                   what the block itself raises is the program's
if _nj_try.has_failed:
    _nj.run(...)                                the live block

njrt.attempts()                                 {"citations.njpy:15": Tally(made=20, unfit=1, raised=0)}
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from njrt.errors import NaturalError
from njrt.outcome import UserValue
from njrt.scope import Bound, scope_of
from njrt.undo import keep

Raised = TypeVar("Raised")


@dataclass(frozen=True, slots=True)
class Tally:
    """How often code was tried at one place, was not fit for the values, and raised an exception."""

    made: int = 0
    unfit: int = 0
    raised: int = 0

    @property
    def live(self) -> int:
        """How often the live block took over."""
        return self.unfit + self.raised


class Unfit(Exception):
    """The values are not what the code was written for."""


_tallies: dict[str, Tally] = {}
_lock = threading.Lock()


def attempts() -> Mapping[str, Tally]:
    """Say, for each place, how its code has done in this process."""
    with _lock:
        return dict(_tallies)


def _count(place: str, *, unfit: int = 0, raised: int = 0, made: int = 0) -> None:
    with _lock:
        tally = _tallies.get(place, Tally())
        _tallies[place] = replace(
            tally, made=tally.made + made, unfit=tally.unfit + unfit, raised=tally.raised + raised
        )


class Attempt:
    """One run of such code: what must be put back, and whether it failed."""

    def __init__(
        self, variables: Callable[[], tuple[Any, ...]], writes: str, cls: str | None, at: str
    ) -> None:
        self.has_failed = False
        self._place = at
        self._scope = scope_of(variables, writes=writes, cls=cls, at=at)
        self._before = self._scope.snapshot()
        found = (self._scope.lookup(name) for name in self._scope.names)
        self._kept = keep([each.value for each in found if isinstance(each, Bound)])
        self._meant: BaseException | None = None
        _count(at, made=1)

    def guard(self, is_fit: bool = True) -> None:
        """Give up before anything is done, unless the code is fit for the values and could be undone."""
        if not is_fit or not self._kept.is_complete:
            raise Unfit

    def meant(self, error: Raised) -> Raised | UserValue:
        """Mark an exception as the block's own, and return it."""
        self._meant = error() if isinstance(error, type) else error  # type: ignore[assignment]
        return self._meant

    def failed_by(self, error: Exception) -> bool:
        """Undo what was done, unless the error is the program's to see."""
        if error is self._meant or isinstance(error, NaturalError):
            return False
        self._kept.put_back()
        self._scope.restore(self._before)
        self.has_failed = True
        is_unfit = isinstance(error, Unfit)
        _count(self._place, unfit=is_unfit, raised=not is_unfit)
        return True


def attempt(
    variables: Callable[[], tuple[Any, ...]], *, writes: str = "", cls: str | None = None, at: str
) -> Attempt:
    """Begin an attempt; the arguments are those of `run`."""
    return Attempt(variables, writes, cls, at)
