"""Loops that ask ahead: the first requests of the next iterations are sent with that of this one.

    _nj_for_9 = _nj.ahead(mails, "mail", 8)
    for mail in _nj_for_9:
        _nj.run("natural ...", lambda: (mail, topic), ..., ahead=_nj_for_9)

    Loop.__iter__     the items, in order; at the end, a break or an exception all that is on its
                      way is cancelled
    AskingAhead       the innermost layer: a request with an equal one that was sent for its
                      iteration takes that reply; then the next are sent

Nothing of the program runs for an item that is not reached: peeked are copies of Python's own
iterators, and no handwritten `__repr__` is called. Replies that are not used cost money;
`note_dropped` counts them.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from itertools import islice
from typing import Any, Generic, TypeVar

from njrt.block.session.limits import MIN_CALL_SECONDS, Meter
from njrt.data.records import record, replace
from njrt.log.accounts import note_dropped
from njrt.messages import Reply, Request, Usage
from njrt.models.model import Ask, Model
from njrt.models.network import get_network

T = TypeVar("T")

MOST_DROPS = 3
"""The number of drops in a row after which a loop no longer asks ahead."""
Sent = tuple[Request, "Future[Reply]"]
"""A request that was sent ahead, and what will have its reply."""


class Loop(Generic[T]):
    """One execution of a loop (state: what was sent for this iteration and for the next ones).

    Its block sends up to `width` requests at the same time. `targets` are the loop's variables:
    `mail`, or several as in `number, mail`.
    """

    def __init__(self, items: Iterable[T], targets: str, width: int) -> None:
        self._items, self._targets, self.width = items, targets.split(", "), width
        self._drops = 0
        self._sent: deque[Sent | None] = deque()
        self._peeked: Iterator[T] = iter(())
        """The items behind those of `_sent`."""

    def __iter__(self) -> Iterator[T]:
        iterator, self._items = iter(self._items), ()
        self._peeked = copy_iterator(iterator) or iter(())
        try:
            for item in iterator:
                if not self._sent:
                    self._sent.append(None)
                    next(self._peeked, None)
                yield item
                self._drop(self._sent.popleft())
        finally:
            for sent in self._sent:
                self._drop(sent)

    def take(self, request: Request) -> Future[Reply] | None:
        """Return the future reply to an equal request that was sent for this iteration, if any."""
        sent, self._sent[0] = self._sent[0], None
        if sent is not None:
            made = replace(sent[0], timeout=request.timeout)
            if made == request:
                self._drops = 0
                return sent[1]
        self._drop(sent)
        return None

    def send(self, run: AskingAhead) -> None:
        """Send the first requests of the next iterations, as far as they are known."""
        room = self.width - len(self._sent) if self._drops < MOST_DROPS else 0
        self._sent.extend(self._send(item, run) for item in islice(self._peeked, max(0, room)))

    def _send(self, item: Any, run: AskingAhead) -> Sent | None:
        """Send the first request for an item; None if that fails, also as it would run code."""
        parts = item if type(item) in (tuple, list) else ()
        with suppress(Exception):
            values = [item] if len(self._targets) == 1 else parts
            request = run.make(dict(zip(self._targets, values, strict=True)))
            return request, get_network().start(run.model.aask(request))
        return None

    def _drop(self, sent: Sent | None) -> None:
        """Cancel a request that was sent ahead, and count what is known to have been used."""
        if sent is None:
            return
        self._drops += 1
        if sent[1].cancel():
            note_dropped(Usage(usd=0.0))
        elif sent[1].exception() is None:
            note_dropped(sent[1].result().usage)


ahead = Loop
"""What compiled files call: `ahead(mails, "mail", 8)`."""


@record
class AskingAhead:
    """The layer of a run that asks ahead, around `model`.

    `make` returns the first request of a run with other variables, or raises any exception.
    """

    loop: Loop[Any]
    make: Callable[[Mapping[str, Any]], Request]
    meter: Meter
    is_async: bool
    model: Model

    async def answer(self, request: Request, ask: Ask) -> Reply:
        future = self.loop.take(request)
        self.loop.send(self)
        if future is None:
            return await ask(request)
        try:
            if self.is_async:
                return await asyncio.wait_for(asyncio.wrap_future(future), request.timeout)
            return future.result(request.timeout)
        except Exception:  # the iteration's own request may fail likewise, and say so
            self.loop.width = max(1, self.loop.width // 2)
        finally:
            future.cancel()
        if (left := self.meter.seconds_left()) is not None:
            left = max(left, MIN_CALL_SECONDS)
            request = replace(request, timeout=min(left, request.timeout))
        return await ask(request)


def copy_iterator(iterator: Any) -> Iterator[Any] | None:
    """Return a second iterator over what is left; None if that could run the program's code."""
    if type(iterator) not in (enumerate, zip):
        return copy.copy(iterator) if type(iterator) in _PLAIN_ITERATORS else None
    make, parts, *_ = iterator.__reduce__()
    copies = [part if type(part) is int else copy_iterator(part) for part in parts]
    return None if None in copies else make(*copies)


_COLLECTIONS: Any = ([], (), range(0), range(2**70), {}, {}.values(), {}.items())
_PLAIN_ITERATORS: frozenset[type] = frozenset(type(iter(items)) for items in _COLLECTIONS)
"""Iterators of lists, tuples, ranges and dicts, of which Python makes copies."""
