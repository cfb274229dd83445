"""The items of a recording in their order, and how many have been used: the common part of its books.

    book.find_next(asked)        3: the number of the next recorded item that equals this one, or None
    book.store(None, item)       4: a new item

Equal items are used in their order. After the last one comes None or, if nothing is recorded any more, the last one every time,
as with replies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, Self, TypeVar


class Recorded(Protocol):
    """An item of a recording."""

    @property
    def is_open(self) -> bool:
        """Whether its end is missing."""


T = TypeVar("T", bound=Recorded)


class ReplayBook(Generic[T]):
    """Recorded items in their order (state: which ones have been used)."""

    def __init__(
        self, old: Iterable[T], identify: Callable[[T], str], *, repeats_last: bool
    ) -> None:
        self.items = list(old)
        self._identify = identify
        self._repeats_last = repeats_last
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._used: dict[str, int] = {}
        for index, item in enumerate(self.items):
            self._slots[identify(item)].append(index)

    @property
    def has_open(self) -> bool:
        """Whether the end of an item is missing."""
        return any(item.is_open for item in self.items)

    def find_next(self, asked: T) -> int | None:
        """Return the number of the next recorded item that equals this one, and count it as used; None for a new item."""
        identity = self._identify(asked)
        slots, used = self._slots[identity], self._used.get(identity, 0)
        self._used[identity] = used + 1
        if used >= len(slots) and not (slots and self._repeats_last):
            return None
        return slots[min(used, len(slots) - 1)]

    def store(self, index: int | None, item: T) -> int:
        """Replace an item, or add one; return its number."""
        if index is not None:
            self.items[index] = item
            return index
        self.items.append(item)
        index = len(self.items) - 1
        self._slots[self._identify(item)].append(index)
        return index

    def skip_used(self, other: Self) -> None:
        """Continue after the items that have been taken from the `other` book."""
        self._used = dict(other._used)
