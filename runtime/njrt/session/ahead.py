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
Sent = tuple[Request, "Future[Reply]"]
"""A request that was sent ahead, without its time limits, and what will have its reply."""


class Loop(Generic[T]):
    """One execution of a loop (state: where it is, and what is on its way, by iteration).

    Its block sends up to `width` requests at the same time. `targets` are the loop's variables:
    `mail`, or several as in `number, mail`.
    """

    def __init__(self, items: Iterable[T], targets: str, width: int) -> None:
        self._items, self._targets, self.width = items, targets.split(", "), width
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

    def take(self, request: Request) -> Future[Reply] | None:
        """Return the future reply to an equal request that was sent for this iteration, if any."""
        self._drop_before(self._number)
        sent, future = self._sent.get(self._number, (None, None))
        if future is not None and sent == make_comparable(request):
            self._drops = 0
            del self._sent[self._number]
            return future
        self._drop_before(self._number + 1)
        if self._drops >= MOST_DROPS:
            self.width = 1
            self._drop_before(math.inf)
        return None

    def send(self, run: AskingAhead) -> None:
        """Send the first requests of the next iterations, as far as they are known."""
        from njrt.models.network import get_network

        room = min(self.width - 1, run.meter.count_room())
        with suppress(Exception):  # of an iterator whose dict has changed its size
            for number, item in enumerate(
                islice(copy_iterator(self._iterator) or (), self.width - 1), self._number + 1
            ):
                if len(self._sent) < room and number not in self._sent:
                    request = run.make(bind(run.variables, self._name(item)))
                    if request is None:
                        return
                    future = get_network().start(run.below.aask(request))
                    self._sent[number] = make_comparable(request), future

    def _name(self, item: Any) -> dict[str, Any]:
        """Return the loop's variables for an item; raise ValueError if unpacking it runs code."""
        parts = [item]
        if len(self._targets) > 1:
            parts = item if type(item) in (tuple, list) else []
        return dict(zip(self._targets, parts, strict=True))

    def _drop_before(self, number: float) -> None:
        for each in [it for it in self._sent if it < number]:
            self._drops += 1
            drop(self._sent.pop(each)[1])


ahead = Loop
"""What compiled files call: `ahead(mails, "mail", 8)`."""


@record
class AskingAhead:
    """The layer of a run that asks ahead; `below` are the layers under it and the model.

    `make` returns the first request of a run with other variables, or None.
    """

    loop: Loop[Any]
    make: Callable[[Variables], Request | None]
    variables: Variables
    meter: Meter
    is_async: bool
    below: LayeredModel

    async def answer(self, request: Request, ask: Ask) -> Reply:
        if request.turn > 1:
            return await ask(request)
        began, future = read_clock(), self.loop.take(request)
        self.loop.send(self)
        if future is None:
            return await ask(request)
        try:
            if self.is_async:
                waiting = asyncio.wrap_future(future)
                return await asyncio.wait_for(waiting, request.timeout)
            return future.result(request.timeout)
        except Exception:  # the iteration's own request may fail likewise, and say so
            self.loop.width = max(1, self.loop.width // 2)
        finally:
            future.cancel()
        if request.seconds_left is not None:
            left = max(MIN_CALL_SECONDS, request.seconds_left + began - read_clock())
            request = replace(request, timeout=min(request.timeout, left), seconds_left=left)
        return await ask(request)


def make_comparable(request: Request) -> Request:
    """Return a request without its time limits, which no model is sent."""
    return replace(request, timeout=0.0, seconds_left=None)


def drop(future: Future[Reply]) -> None:
    """Cancel a request that was sent ahead, and count what is known to have been used."""
    usage = Usage(usd=0.0)
    if not future.cancel():
        if future.exception() is not None:
            return
        reply = future.result()
        usage = replace(reply.usage, usd=0.0) if reply.source == "cache" else reply.usage
    note_dropped(usage)


def copy_iterator(iterator: Any) -> Iterator[Any] | None:
    """Return a second iterator over what is left; None if that could run the program's code."""
    if type(iterator) in _PLAIN_ITERATORS:
        copied: Iterator[Any] = copy.copy(iterator)
        return copied
    if type(iterator) not in (enumerate, zip):
        return None
    make, parts, *_ = iterator.__reduce__()
    copies = [part if type(part) is int else copy_iterator(part) for part in parts]
    return None if any(part is None for part in copies) else make(*copies)


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
    return FunctionType(code, module, variables.__name__, None, closure)
