"""Loops that ask ahead: the first requests of the next iterations are sent with that of this one.

    for mail in (_nj_for_mail := _nj.ahead(mails, "mail", 8)):
        _nj.run("natural ...", lambda: (mail, topic), ..., ahead=_nj_for_mail)

    Loop.__iter__     the items, in order; at the end, a break or an exception all that is on its
                      way is cancelled
    AskingAhead       below the recording, above the cache: a request with an equal one that was
                      sent for its iteration takes that reply; then the next are sent

Nothing of the program runs for an item that is not reached: peeked are copies of Python's own
iterators, and rendered only plain data. Replies that are not used cost money; `note_dropped` counts
them.
"""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from types import CellType, FunctionType
from typing import Any, Generic, TypeVar

from njrt.messages import Reply, Request, Usage
from njrt.models.model import Ask, LayeredModel
from njrt.observability.accounts import note_dropped
from njrt.records import record, replace
from njrt.session.limits import MIN_CALL_SECONDS, Meter
from njrt.timeouts import read_clock

T = TypeVar("T")

MOST_DROPS = 3
"""The number of drops in a row after which a loop no longer asks ahead."""
Variables = Callable[[], tuple[Any, ...]]
"""A block's lambda over its variables."""
RequestMaker = Callable[[Variables], Request | None]
"""Returns the first request of a run with these variables; None if that would run the program."""


def ahead(items: Iterable[T], targets: str, width: int) -> Loop[T]:
    """Return a loop over `items` whose block sends up to `width` requests at the same time.

    `targets` are the loop's variables: `mail`, or several as in `number, mail`.
    """
    return Loop(items, targets, width)


@record
class Sent:
    """A request that was sent ahead, and the meter of the run that sent it."""

    request: Request
    future: Future[Reply]
    meter: Meter


class Loop(Generic[T]):
    """One execution of a loop (state: where it is, and what is on its way, by iteration)."""

    def __init__(self, items: Iterable[T], targets: str, width: int) -> None:
        self._items, self._targets, self.width = items, targets, width
        self._iterator: Iterator[T] = iter(())
        self._number = self._drops = 0
        self._sent: dict[float, Sent] = {}

    def __iter__(self) -> Iterator[T]:
        iterator, self._items = iter(self._items), ()
        return iterator if copy_iterator(iterator) is None else self._give(iterator)

    def _give(self, iterator: Iterator[T]) -> Iterator[T]:
        self._iterator = iterator
        try:
            for item in iterator:
                self._number += 1
                yield item
        finally:
            self._iterator = iter(())
            self._drop_before(math.inf)

    def take(self, request: Request) -> Sent | None:
        """Return the request that was sent for this iteration, if it is the same."""
        self._drop_before(self._number)
        sent = self._sent.get(self._number)
        if sent is not None and sent.request == make_comparable(request):
            self._drops = 0
            return self._sent.pop(self._number)
        self._drop_before(self._number + 1)
        if self._drops >= MOST_DROPS:
            self.width = 1
            self._drop_before(math.inf)
        return None

    def send(self, run: AskingAhead) -> None:
        """Send the first requests of the next iterations, as far as they are known."""
        from njrt.models.network import get_network

        room = min(self.width - 1, run.meter.count_room())
        for number, item in enumerate(self._peek(), self._number + 1):
            if len(self._sent) < room and number not in self._sent:
                values = self._name(item)
                request = run.make(bind(run.variables, values)) if values else None
                if request is None:
                    return
                future = get_network().start(run.below.aask(request))
                self._sent[number] = Sent(make_comparable(request), future, run.meter)

    def _peek(self) -> list[Any]:
        """Return the next items; none at the end, which is also a change of a dict."""
        with suppress(Exception):
            return list(islice(copy_iterator(self._iterator) or (), self.width - 1))
        return []

    def _name(self, item: Any) -> dict[str, Any]:
        """Return the loop's variables for an item; none if only the program can unpack it."""
        names = self._targets.split(", ")
        parts = [item] if len(names) == 1 else item if type(item) in (tuple, list) else []
        return dict(zip(names, parts, strict=True)) if len(parts) == len(names) else {}

    def _drop_before(self, number: float) -> None:
        for each in [it for it in self._sent if it < number]:
            self._drops += 1
            drop(self._sent.pop(each))


@record
class AskingAhead:
    """The layer of a run that asks ahead; `below` are the layers under it and the model."""

    loop: Loop[Any]
    make: RequestMaker
    variables: Variables
    meter: Meter
    is_async: bool
    below: LayeredModel

    async def answer(self, request: Request, ask: Ask) -> Reply:
        if request.turn > 1:
            return await ask(request)
        began, sent = read_clock(), self.loop.take(request)
        self.loop.send(self)
        if sent is None:
            return await ask(request)
        try:
            if self.is_async:
                waiting = asyncio.wrap_future(sent.future)
                return await asyncio.wait_for(waiting, request.timeout)
            return sent.future.result(request.timeout)
        except Exception:  # the iteration's own request may fail likewise, and say so
            self.loop.width = max(1, self.loop.width // 2)
        finally:
            sent.future.cancel()
        if request.seconds_left is not None:
            left = max(MIN_CALL_SECONDS, request.seconds_left + began - read_clock())
            request = replace(request, timeout=min(request.timeout, left), seconds_left=left)
        return await ask(request)


def make_comparable(request: Request) -> Request:
    """Return a request without its time limits, which no model is sent."""
    return replace(request, timeout=0.0, seconds_left=None)


def drop(sent: Sent) -> None:
    """Cancel a request that was sent ahead, and count what is known to have been used."""
    usage = Usage(usd=0.0)
    if not sent.future.cancel():
        if sent.future.exception() is not None:
            return
        reply = sent.future.result()
        usage = replace(reply.usage, usd=0.0) if reply.source == "cache" else reply.usage
    sent.meter.add_usage(usage)
    note_dropped(usage)


def copy_iterator(iterator: Iterator[Any]) -> Iterator[Any] | None:
    """Return a second iterator over what is left; None if that could run the program's code."""
    kind = type(iterator)
    if kind in _PLAIN_ITERATORS:
        return copy.copy(iterator)
    if kind not in (enumerate, zip):
        return None
    reduced: Any = iterator.__reduce__()
    _, parts, *state = reduced
    if kind is enumerate:
        inner = copy_iterator(parts[0])
        return None if inner is None else enumerate(inner, parts[1])
    copies = [copied for part in parts if (copied := copy_iterator(part)) is not None]
    return zip(*copies, strict=bool(state)) if len(copies) == len(parts) else None


_COLLECTIONS: Any = ([], (), range(0), range(2**70), {}, {}.values(), {}.items())
_PLAIN_ITERATORS: frozenset[type] = frozenset(type(iter(items)) for items in _COLLECTIONS)
"""Iterators of lists, tuples, ranges and dicts, of which Python makes copies."""


def bind(variables: Variables, values: dict[str, Any]) -> FunctionType:
    """Return a block's lambda with variables bound to other values, which the program never sees.

    Those in cells get new ones; those of the module are in a copy of its namespace.
    """
    assert isinstance(variables, FunctionType)
    code, module = variables.__code__, variables.__globals__
    cells = zip(code.co_freevars, variables.__closure__ or (), strict=True)
    closure = tuple(CellType(values[name]) if name in values else cell for name, cell in cells)
    if others := {name: values[name] for name in values.keys() & {*code.co_names}}:
        module = {**module, **others}
    bound = FunctionType(code, module, variables.__name__, None, closure)
    bound.__qualname__ = variables.__qualname__
    return bound
