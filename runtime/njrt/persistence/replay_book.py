"""The decisions, or the calls of gated functions, of a recording that is in use.

    book.take(asked)             3: the number of the next recorded item that equals this one; None for a new item
    book.store(None, item)       4: a new item

Equal items (`identity`) are used in their order. After the last one comes None, so that a person is asked again; where
nothing is recorded any more, the last one every time, as with replies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, Protocol, Self, TypeVar


class Recorded(Protocol):
    """An item of a recording; `key` is the digest of the conversation before it."""

    @property
    def key(self) -> str: ...

    @property
    def identity(self) -> str:
        """What equal items have in common."""

    @property
    def is_open(self) -> bool:
        """Whether its end is missing."""


T = TypeVar("T", bound=Recorded)


class ReplayBook(Generic[T]):
    """Recorded items in their order (state: which ones have been used)."""

    def __init__(self, old: Iterable[T], *, repeats_last: bool) -> None:
        self.items = list(old)
        self._repeats_last = repeats_last
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._used: dict[str, int] = {}
        self._unused: defaultdict[str, set[int]] = defaultdict(set)
        """Old items that have not been taken, by their conversation."""
        for index, item in enumerate(self.items):
            self._slots[item.identity].append(index)
            self._unused[item.key].add(index)

    @property
    def has_open(self) -> bool:
        """Whether the end of an item is missing."""
        return any(item.is_open for item in self.items)

    def take(self, asked: T) -> int | None:
        """Return the number of the next recorded item that equals this one, and count it as used; None for a new item."""
        identity = asked.identity
        slots, used = self._slots[identity], self._used.get(identity, 0)
        self._used[identity] = used + 1
        if used >= len(slots) and not (slots and self._repeats_last):
            return None
        index = slots[min(used, len(slots) - 1)]
        self._unused[asked.key].discard(index)
        return index

    def store(self, index: int | None, item: T) -> int:
        """Replace an item, or add one; return its number."""
        if index is not None:
            self.items[index] = item
            return index
        self.items.append(item)
        index = len(self.items) - 1
        self._slots[item.identity].append(index)
        return index

    def find_unused(self, key: str) -> T | None:
        """Return the first recorded item after a conversation that the program has not asked for again."""
        unused = self._unused[key]
        return self.items[min(unused)] if unused else None

    def has_items(self, key: str) -> bool:
        """Return whether any items after this conversation are recorded."""
        return any(item.key == key for item in self.items)

    def drop_unreached(self) -> None:
        """At the end of a run, remove open items that the run did not reach."""
        self.items = [
            item
            for index, item in enumerate(self.items)
            if not item.is_open or index not in self._unused[item.key]
        ]

    def skip_used(self, other: Self) -> None:
        """Continue after the items that have been taken from the `other` book."""
        self._used = dict(other._used)
        for key, unused in other._unused.items():
            self._unused[key] &= unused
