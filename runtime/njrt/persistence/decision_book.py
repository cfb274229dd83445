"""The decisions of interceptors in a recording that is in use.

    book.take(asked)             DecidedSlot(3, RecordedDecision(...)): made before, or still open
    book.put(slot, decided)      made now

Equal effects after equal conversations get the recorded decisions in their order. After that there is none, so that
a person is asked again; where nothing is recorded any more, the last one every time, as with replies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from njrt.message_json import hash_json
from njrt.persistence.recording_file import RecordedDecision


@dataclass(frozen=True, slots=True)
class DecidedSlot:
    """Where the decisions about one effect are in the recording, and what they are."""

    index: int
    recorded: RecordedDecision


class DecisionBook:
    """The decisions in the order in which the effects were shown (state: which ones have been used)."""

    def __init__(self, old: Iterable[RecordedDecision], *, repeats_last: bool) -> None:
        self.decisions = list(old)
        self._repeats_last = repeats_last
        self._slots: defaultdict[str, list[int]] = defaultdict(list)
        self._used: dict[str, int] = {}
        self._touched: set[int] = set()
        for index, decided in enumerate(self.decisions):
            self._slots[make_identity(decided)].append(index)

    @property
    def has_open(self) -> bool:
        """Whether an effect is pending or paused."""
        return any(decided.is_open for decided in self.decisions)

    def take(self, asked: RecordedDecision) -> DecidedSlot | None:
        """Return the next recorded decisions about this effect; None if there are none."""
        identity = make_identity(asked)
        slots, used = self._slots[identity], self._used.get(identity, 0)
        self._used[identity] = used + 1
        if used >= len(slots) and not (slots and self._repeats_last):
            return None
        index = slots[min(used, len(slots) - 1)]
        self._touched.add(index)
        return DecidedSlot(index, self.decisions[index])

    def put(self, slot: DecidedSlot | None, decided: RecordedDecision) -> DecidedSlot:
        """Replace what a slot holds, or add one."""
        if slot is None:
            self.decisions.append(decided)
            index = len(self.decisions) - 1
            self._slots[make_identity(decided)].append(index)
            self._touched.add(index)
        else:
            index = slot.index
            self.decisions[index] = decided
        return DecidedSlot(index, decided)

    def skip_used(self, other: DecisionBook) -> None:
        """Go on after the decisions that have been taken from the `other` book."""
        self._used = dict(other._used)

    def list_final(self) -> tuple[RecordedDecision, ...]:
        """Return the decisions at the end of a run: without open ones that the run did not reach."""
        return tuple(
            decided
            for index, decided in enumerate(self.decisions)
            if not decided.is_open or index in self._touched
        )


def make_identity(decided: RecordedDecision) -> str:
    """Return what makes two effects the same: the conversation before, the number in the reply, the effect."""
    return hash_json([decided.key, decided.number, decided.effect])
