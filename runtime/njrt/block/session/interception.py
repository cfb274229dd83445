"""Ask the interceptors around a block about an effect before it is performed.

    inner: Edit(effect)          outer is asked about the edited effect
    inner: Reject, Abort, Pause  this is final; outer is not asked

`BaseRun.serve` yields a `PendingEffect`; the driver passes it to `intercept` and sends back the
`Interception`. An interceptor is not asked about blocks that it runs itself, nor if the recording
has its decision.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from njrt.data.context import Stack
from njrt.data.decisions import (
    Accept,
    Decision,
    Edit,
    Interception,
    Interceptor,
    InterceptorDecision,
    OpenInterceptor,
    PendingEffect,
    check_edit,
)
from njrt.data.message_json import hash_conversation
from njrt.effects import Touch
from njrt.errors import ConfigurationError, InterceptorError, NaturalError, Paused
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.values.effect_json import effect_to_json

if TYPE_CHECKING:
    from njrt.log.recorder import Recorder
    from njrt.log.recording_file import RecordedDecision, RecordedTouch

_asking: Stack[Sequence[OpenInterceptor]] = Stack("njrt.asking")
"""The interceptors that are deciding around this point."""


def list_interceptors(opened: Sequence[OpenInterceptor]) -> tuple[OpenInterceptor, ...]:
    """Return the open interceptors that a block here must ask, innermost first."""
    if not opened:
        return ()
    asking = {id(each) for group in _asking.here() for each in group}
    return tuple(each for each in reversed(opened) if id(each) not in asking)


class DecisionRecord:
    """The recorded decisions about one run's effects (state: the conversation, seen as a layer)."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._request: Request | None = None
        self._count = 0

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Note which conversation the next effects follow."""
        self._request, self._count = request, 0
        return await ask(request)

    def take(self, pending: PendingEffect) -> RecordedSlot[RecordedDecision]:
        """Return an effect's place in the recording, with the decisions about it."""
        from njrt.log.recording_file import RecordedDecision

        self._count += 1
        effect = effect_to_json(pending.effect)
        asked = RecordedDecision(pending.place, self._hash_messages(), self._count, effect)
        index, found = self.recorder.take_decision(asked)
        return RecordedSlot(self.recorder, index, found or asked, self.recorder.record_decision)

    def take_call(self, pending: PendingEffect, is_alone: bool) -> RecordedSlot[RecordedTouch]:
        """Return a gated call's place in the recording; `is_alone` means that no other call runs.

        Raises RecordingMismatchError if other calls are recorded in its place.
        """
        from njrt.log.recording_file import RecordedTouch

        id, key, effect = uuid.uuid4().hex, self._hash_messages(), effect_to_json(pending.effect)
        asked = RecordedTouch(
            pending.place, key, pending.number, effect, id=id, digest=pending.digest
        )
        index, found = self.recorder.take_call(asked, is_alone)
        return RecordedSlot(self.recorder, index, found or asked, self.recorder.record_call)

    def _hash_messages(self) -> str:
        return "" if self._request is None else hash_conversation(self._request.messages)


R = TypeVar("R", bound="RecordedDecision | RecordedTouch")


class RecordedSlot(Generic[R]):
    """The place of one effect or one gated function call in a recording (state: its record)."""

    def __init__(
        self,
        recorder: Recorder,
        index: int | None,
        recorded: R,
        store: Callable[[int | None, R], int],
    ) -> None:
        self.recorder, self._index, self._store = recorder, index, store
        self.recorded = recorded
        self.is_pending = index is not None and recorded.is_open
        """True if the recorded run ended before this effect or during this call."""
        self.decisions = recorded.lasting_decisions

    def write(self, **changes: Any) -> None:
        """Record decisions, or the call's progress; do nothing in a replay."""
        if self.recorder.records:
            self.recorded = replace(self.recorded, **changes)
            self._index = self._store(self._index, self.recorded)


async def intercept(
    pending: PendingEffect,
    interceptors: Sequence[OpenInterceptor],
    record: DecisionRecord | None = None,
) -> Interception:
    """Ask the interceptors, innermost first, until one rejects, aborts or pauses.

    Interceptors with a recorded decision are not asked. In a sync block nothing is awaited.
    """
    slot = None if record is None else record.take(pending)
    if slot is not None and slot.is_pending and not interceptors:
        raise Paused(
            f"{pending.place}: the recording {slot.recorder.place.name} ends before this effect,"
            " about which nothing was decided; run the program with its interceptor to continue"
        )
    decisions, asked, pending = apply_recorded_decisions(pending, interceptors, slot)
    if asked:
        is_remembered = not all(interceptor.asks_again for interceptor in asked)
        if slot is not None and is_remembered and not slot.decisions:
            slot.write(decisions=())
        decisions += await ask_all(pending, asked, interceptors)
        is_news = is_remembered or any(made.decision != Accept() for made in decisions)
        if slot is not None and (is_news or slot.decisions):
            slot.write(decisions=tuple(decisions))
    edits = [made.decision for made in decisions if isinstance(made.decision, Edit)]
    return Interception(edits[-1].effect if edits else pending.effect, tuple(decisions))


def is_final(decision: Decision) -> bool:
    """Return whether no other interceptor is asked after this decision."""
    return not isinstance(decision, Accept | Edit)


def apply_recorded_decisions(
    pending: PendingEffect,
    interceptors: Sequence[OpenInterceptor],
    slot: RecordedSlot[Any] | None,
) -> tuple[list[InterceptorDecision], list[OpenInterceptor], PendingEffect]:
    """Return the recorded decisions that hold, the interceptors to ask, and the edited effect."""
    made = () if slot is None else slot.decisions
    known = {each.interceptor for each in made} - {it.name for it in interceptors if it.asks_again}
    asked = [each for each in interceptors if each.name not in known]
    decisions = [each for each in made if each.interceptor in known]
    for each in decisions:
        if isinstance(each.decision, Edit):
            check_edit(each.interceptor, each.decision, pending)
            pending = replace(pending, effect=each.decision.effect)
    is_decided = bool(decisions) and is_final(decisions[-1].decision)
    return decisions, [] if is_decided else asked, pending


async def ask_all(
    pending: PendingEffect,
    asked: Sequence[OpenInterceptor],
    interceptors: Sequence[OpenInterceptor],
) -> list[InterceptorDecision]:
    """Return the decisions of the interceptors that are asked, up to a final one."""
    decisions: list[InterceptorDecision] = []
    for interceptor in asked:
        inner = interceptors[: interceptors.index(interceptor) + 1]
        with _asking.opened(inner):
            decision = await call_interceptor(interceptor.decide, interceptor.name, pending)
        decisions.append(InterceptorDecision(interceptor.name, decision))
        if is_final(decision):
            break
        if isinstance(decision, Edit):
            pending = replace(pending, effect=decision.effect)
    return decisions


async def call_interceptor(decide: Interceptor, name: str, pending: PendingEffect) -> Decision:
    """Return an interceptor's decision; its exceptions become an `InterceptorError`."""
    try:
        answer = decide(pending)
        if inspect.isawaitable(answer):
            if not pending.is_async:
                if inspect.iscoroutine(answer):
                    answer.close()
                what = pending.effect.function if isinstance(pending.effect, Touch) else "the block"
                raise ConfigurationError(
                    f"{pending.place}: the interceptor `{name}` is a coroutine function, but {what}"
                    " is not async; use a plain function"
                )
            answer = await answer
    except NaturalError:
        raise
    except Exception as error:
        problem = f"the interceptor `{name}` raised {type(error).__name__}: {error}"
        raise InterceptorError(problem) from error
    decision = cast(object, answer)
    if not isinstance(decision, Decision):
        raise InterceptorError(
            f"the interceptor `{name}` returned {type(decision).__name__}, not Accept(), Edit(...),"
            " Reject(...), Abort(...) or Pause()"
        )
    if isinstance(decision, Edit):
        check_edit(name, decision, pending)
    return decision
