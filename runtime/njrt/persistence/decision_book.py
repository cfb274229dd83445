"""The decisions of interceptors in a recording that is in use.

    book.take(asked)             DecidedSlot(3, RecordedDecision(...)): made before, or still open
    book.put(slot, decided)      made now

Equal effects after equal conversations get the recorded decisions in their order. After that there is none, so that
a person is asked again; where nothing is recorded any more, the last one every time, as with replies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from njrt.message_json import hash_json
from njrt.persistence.recording_file import RecordedDecision
from njrt.persistence.replay_book import ReplayBook


@dataclass(frozen=True, slots=True)
class DecidedSlot:
    """Where the decisions about one effect are in the recording, and what they are."""

    index: int
    recorded: RecordedDecision


class DecisionBook(ReplayBook[RecordedDecision]):
    """The decisions in the order in which the effects were shown (state: which ones have been used)."""

    def __init__(self, old: Iterable[RecordedDecision], *, repeats_last: bool) -> None:
        super().__init__(old, make_identity, repeats_last=repeats_last)
        self._touched: set[int] = set()

    def take(self, asked: RecordedDecision) -> DecidedSlot | None:
        """Return the next recorded decisions about this effect, or None."""
        index = self.find_next(asked)
        if index is None:
            return None
        self._touched.add(index)
        return DecidedSlot(index, self.items[index])

    def put(self, slot: DecidedSlot | None, decided: RecordedDecision) -> DecidedSlot:
        """Replace what a slot holds, or add one."""
        index = self.store(None if slot is None else slot.index, decided)
        if slot is None:
            self._touched.add(index)
        return DecidedSlot(index, decided)

    def list_final(self) -> tuple[RecordedDecision, ...]:
        """Return the decisions at the end of a run: without open ones that the run did not reach."""
        return tuple(
            decided
            for index, decided in enumerate(self.items)
            if not decided.is_open or index in self._touched
        )


def make_identity(decided: RecordedDecision) -> str:
    """Return what makes two effects the same: the conversation before, the number in the reply, the effect."""
    return hash_json([decided.key, decided.number, decided.effect])
