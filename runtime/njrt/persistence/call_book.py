"""The calls of gated functions in a recording that is in use.

    book.take(asked)             (3, RecordedTouch(...)): made before, or interrupted; None: a new call
    book.put(3, recorded)        the call is decided, begun or done

Equal calls after equal conversations get the recorded calls in their order. A call that is not recorded although others after this
conversation are still unused shows that the program does something else than before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from njrt.message_json import hash_json
from njrt.persistence.recording_file import RecordedTouch


class CallBook:
    """The calls in the order of their start (state: which ones have been used)."""

    def __init__(self, old: Iterable[RecordedTouch], *, repeats_last: bool) -> None:
        self.calls = list(old)
        self._repeats_last = repeats_last
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._unused: defaultdict[str, set[int]] = defaultdict(set)
        self._used: dict[str, int] = {}
        for index, call in enumerate(self.calls):
            self._slots[make_identity(call)].append(index)
            self._unused[call.key].add(index)

    @property
    def has_open(self) -> bool:
        """Whether a call is not decided, or was interrupted."""
        return any(call.is_open for call in self.calls)

    def take(self, asked: RecordedTouch) -> int | None:
        """Return the number of the next recorded call that equals this one; None for a new call."""
        identity = make_identity(asked)
        slots, used = self._slots[identity], self._used.get(identity, 0)
        self._used[identity] = used + 1
        if used >= len(slots) and not (slots and self._repeats_last):
            return None
        index = slots[min(used, len(slots) - 1)]
        self._unused[asked.key].discard(index)
        return index

    def find_unused(self, key: str) -> RecordedTouch | None:
        """Return the first recorded call after a conversation that the program has not made again."""
        unused = self._unused[key]
        return self.calls[min(unused)] if unused else None

    def has_calls(self, key: str) -> bool:
        """Return whether any calls after this conversation are recorded."""
        return any(call.key == key for call in self.calls)

    def put(self, index: int | None, call: RecordedTouch) -> int:
        """Replace a call, or add one; return its number."""
        if index is not None:
            self.calls[index] = call
            return index
        self.calls.append(call)
        index = len(self.calls) - 1
        self._slots[make_identity(call)].append(index)
        return index

    def skip_used(self, other: CallBook) -> None:
        """Continue after the calls that have been taken from the `other` book."""
        self._used = dict(other._used)
        for key, unused in other._unused.items():
            self._unused[key] &= unused


def make_identity(call: RecordedTouch) -> str:
    """Return what makes two calls the same: the conversation before, the function, the arguments."""
    return hash_json([call.key, call.effect])
