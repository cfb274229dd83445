"""The calls of gated functions in a recording that is in use.

    book.take(asked)             (3, RecordedTouch(...)): made before, or interrupted; None: a new call
    book.store(3, recorded)      the call is decided, begun or done

Equal calls after equal conversations get the recorded calls in their order. A call that is not recorded although others after this
conversation are still unused shows that the program does something else than before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from njrt.message_json import hash_json
from njrt.persistence.recording_file import RecordedTouch
from njrt.persistence.replay_book import ReplayBook


class CallBook(ReplayBook[RecordedTouch]):
    """The calls in the order of their start (state: which ones have been used)."""

    def __init__(self, old: Iterable[RecordedTouch], *, repeats_last: bool) -> None:
        super().__init__(old, make_identity, repeats_last=repeats_last)
        self._unused: defaultdict[str, set[int]] = defaultdict(set)
        for index, call in enumerate(self.items):
            self._unused[call.key].add(index)

    def take(self, asked: RecordedTouch) -> int | None:
        """Return the number of the next recorded call that equals this one; None for a new call."""
        index = self.find_next(asked)
        if index is not None:
            self._unused[asked.key].discard(index)
        return index

    def find_unused(self, key: str) -> RecordedTouch | None:
        """Return the first recorded call after a conversation that the program has not made again."""
        unused = self._unused[key]
        return self.items[min(unused)] if unused else None

    def has_calls(self, key: str) -> bool:
        """Return whether any calls after this conversation are recorded."""
        return any(call.key == key for call in self.items)

    def skip_used(self, other: CallBook) -> None:
        """Continue after the calls that have been taken from the `other` book."""
        super().skip_used(other)
        for key, unused in other._unused.items():
            self._unused[key] &= unused


def make_identity(call: RecordedTouch) -> str:
    """Return what makes two calls the same: the conversation before, the function, the arguments."""
    return hash_json([call.key, call.effect])
