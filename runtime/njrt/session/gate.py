"""The gate of one run of a block: each call of a gated function is decided, made once, recorded and reported.

    pay(order)    rule  ->  interceptors  ->  recorded before?  ->  begun  ->  pay(order)  ->  done  ->  Performed(Touch(...))

    refused       PermissionError in the code, which may continue
    aborted       the block ends
    paused        the block ends; when the program is run again with its recording, the calls that were done are not made again

In a workflow of `njrt.durable` a call is a step of it, and no recording is needed.
"""

from __future__ import annotations

import inspect
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any, cast

from njrt.decisions import (
    Abort,
    Accept,
    Edit,
    InterceptorDecision,
    Pause,
    PendingEffect,
    Reject,
    is_observer,
)
from njrt.effect_json import effect_to_json, format_call
from njrt.effects import Answer, Effect, EffectResult, Refusal, Touch
from njrt.errors import CallInDoubtError, NaturalError
from njrt.events import Performed
from njrt.gates import GatedFunction, keyed, open_gate
from njrt.models.model import run_without_waiting
from njrt.outcome import Raised
from njrt.persistence.recording_file import RecordedTouch, TouchState
from njrt.rendering.describe import render_value
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Scope
from njrt.session.interception import CallRecord, ask_interceptors, is_final
from njrt.session.session import Session, make_ending_error
from njrt.session.settings import get_settings
from njrt.timeouts import clock
from njrt.values.decode import decode_values
from njrt.values.encode import encode_values
from njrt.values.failures import CALL_NOTE, failure_from_json, failure_to_json
from njrt.values.introspection import read_attributes

_MAX_VALUE_CHARS = 200
"""Characters of a value that is not JSON, in the recording and before an interceptor."""
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A call that may be made: with these arguments, and its place in the recording."""

    gated: GatedFunction
    args: tuple[Any, ...]
    named: dict[str, Any]
    effect: Touch
    decisions: tuple[InterceptorDecision, ...]
    record: CallRecord | None


class RunGate:
    """The gate of one run (state: the turn, the calls so far, how many are under way)."""

    def __init__(
        self,
        session: Session,
        scope: Scope,
        describe: Callable[[Effect, int, int], PendingEffect],
        redactor: Redactor,
    ) -> None:
        self.turn = 0
        self.ending: NaturalError | None = None
        """The error of an interceptor that has ended the block, also if the code catches it."""
        self.rules = session.settings.calls
        self._session, self._describe, self._redactor = session, describe, redactor
        self._scope = scope
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._number = self._running = 0

    def call(self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call if it is allowed, and return its result.

        Raises:
            PermissionError: the call is refused.
            NaturalError: an interceptor has ended the block, or the recording has another call.
        """
        return run_without_waiting(self._call(gated, args, named, is_async=False))

    async def acall(
        self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Do the same for a coroutine function."""
        return await self._call(gated, args, named, is_async=True)

    async def _call(
        self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any], is_async: bool
    ) -> Any:
        """Make a call; nothing is awaited for a function that is not a coroutine function."""
        with self._reported(gated, args, named) as report:
            pending = self._prepare(gated, args, named, is_async)
            with open_gate(None), self._session.meter.stopped(), _stopped_clock(is_async):
                allowed = await self._decide(gated, args, named, pending, report)
            report.result = await self._perform(allowed, is_async)
        return report.result

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────

    def _prepare(
        self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any], is_async: bool
    ) -> PendingEffect:
        """Check the rule of the function, and describe the call."""
        if self.ending is not None:
            raise self.ending
        arguments, rule = gated.bind(args, named), gated.rule
        effect = Touch(gated.name, self._show_arguments(arguments))
        with self._lock:
            self._number += 1
            self._counts[gated.name] += 1
            number, count = self._number, self._counts[gated.name]
        if rule.decide == "deny":
            raise PermissionError(f"calls of {gated.name} are not allowed here")
        if rule.named and not names_function(self._scope, gated):
            raise PermissionError(
                f"the prompt does not name {gated.name}: write `<{gated.name}>` in it to allow the call"
            )
        if rule.at_most is not None and count > rule.at_most:
            times = "once" if rule.at_most == 1 else f"{rule.at_most} times"
            raise PermissionError(f"{gated.name} may be called {times} here")
        if rule.check is not None:
            with open_gate(None):
                answer = rule.check(*args, **named)
            if isinstance(answer, str) or not answer:
                reason = answer if isinstance(answer, str) and answer else "its check refuses it"
                raise PermissionError(f"{format_call(effect_to_json(effect))}: {reason}")
        pending = self._describe(effect, self.turn, number)
        return replace(pending, is_async=is_async, arguments=arguments)

    def _show_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._redactor.scan(arguments.items())
        return {name: self._show(value) for name, value in arguments.items()}

    def _show(self, value: Any, depth: int = 0) -> Any:
        """Return a value as JSON, redacted; of one that is not JSON, its text."""
        kind = type(value)
        if value is None or kind in (bool, int, float):
            return value
        if kind is str:
            return self._redactor.redact(value)
        if depth < _MAX_DEPTH and kind in (list, tuple):
            return [self._show(member, depth + 1) for member in value]
        if depth < _MAX_DEPTH and kind is dict and all(type(key) is str for key in value):
            return {key: self._show(member, depth + 1) for key, member in value.items()}
        return render_value(value, _MAX_VALUE_CHARS, self._redactor)

    async def _decide(
        self,
        gated: GatedFunction,
        args: tuple[Any, ...],
        named: dict[str, Any],
        pending: PendingEffect,
        report: _Report,
    ) -> _Allowed:
        """Ask the interceptors, unless the rule or the recording decides."""
        session, effect = self._session, cast(Touch, pending.effect)
        record = None
        if session.record is not None and get_settings().steps is None:
            record = session.record.take_call(pending, is_alone=self._running == 0)
        report.effect = effect
        interceptors = session.interceptors
        if gated.rule.decide == "allow":  # a manifest holds, and a debugger stops, all the same
            interceptors = tuple(opened for opened in interceptors if opened.asks_again)
        elif all(map(is_observer, interceptors)) and not (record and record.decisions):
            raise PermissionError(
                f"nobody decides about calls of {gated.name}: the program must open njrt.using(intercept=...) "
                'around the block, such as intercept=njrt.approve(calls=True), or write @njrt.gated(decide="allow")'
            )
        decisions = tuple(await ask_interceptors(pending, interceptors, record))
        report.decisions = decisions
        last = decisions[-1].decision if decisions else Accept()
        if record is not None and not record.was_made:
            rejected: TouchState = "rejected" if isinstance(last, Reject) else "pending"
            if is_final(last) and not isinstance(last, Abort):
                record.write(rejected, decisions)
        match last:
            case Reject(words):
                raise PermissionError(words)
            case Abort() | Pause():
                self.ending = make_ending_error(last, decisions[-1].interceptor, session)
                raise self.ending
        for made in decisions:
            if isinstance(made.decision, Edit):
                args, named = self._edit(gated, args, named, effect, made.decision.effect)
                report.effect = effect = cast(Touch, made.decision.effect)
        return _Allowed(gated, args, named, effect, decisions, record)

    def _edit(
        self,
        gated: GatedFunction,
        args: tuple[Any, ...],
        named: dict[str, Any],
        before: Touch,
        after: Effect,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments after an edit; unchanged ones stay the program's objects."""
        assert isinstance(after, Touch)
        given = gated.bind(args, named)
        changed = {
            name: given[name] if before.arguments.get(name, _ABSENT) == value else value
            for name, value in after.arguments.items()
        }
        signature = inspect.signature(gated.function)
        bound = signature.bind(*args, **named)
        bound.arguments.clear()
        bound.arguments.update(
            (name, changed[name]) for name in signature.parameters if name in changed
        )
        return bound.args, dict(bound.kwargs)

    # ── making the call once ─────────────────────────────────────────────────────────────────────

    async def _perform(self, allowed: _Allowed, is_async: bool) -> Any:
        gated, args, named = allowed.gated, allowed.args, allowed.named
        steps = get_settings().steps
        if steps is not None:
            with open_gate(None):
                find = gated.rule.find
                if is_async:
                    return await steps.acall_once(gated.function, find, args, named)
                return steps.call_once(gated.function, find, args, named)
        record = allowed.record
        if record is not None and record.was_made:
            return read_call_result(record.recorded)
        found = self._look_up(allowed)
        if is_async and inspect.isawaitable(found):
            found = await found
        with self._under_way():
            key = self._begin(allowed)
            try:
                if found is None:
                    with keyed(key):
                        found = gated.function(*args, **named)
                        found = await found if is_async else found
            except Exception as error:
                if allowed.record is None:
                    raise
                failure = failure_to_json(error)
                self._end(allowed, "failed", failure)
                # As in a replay, which does not have the frames of the function.
                raise failure_from_json(failure, CALL_NOTE) from None
            self._end(allowed, "done", write_call_result(found))
            return found

    def _look_up(self, allowed: _Allowed) -> Any:
        """Return the result of a call that a crash has interrupted, None for one that was not made.

        Raises:
            CallInDoubtError: that is not known.
        """
        record, gated = allowed.record, allowed.gated
        if record is None or record.recorded.state != "begun":
            return None
        if gated.rule.find is None:
            raise CallInDoubtError(
                f"{self._session.place}: the call {format_call(record.recorded.effect)} (key {record.recorded.id}) was interrupted by a "
                "crash, and may have been made; it is not made again. Look whether it was, or give njrt.gated a function "
                f"`find` that does; then remove its lines from {record.path}, or set their state to done"
            )
        with open_gate(None):
            return gated.rule.find(record.recorded.id)

    def _begin(self, allowed: _Allowed) -> str:
        record = allowed.record
        if record is None:
            return uuid.uuid4().hex
        record.write("begun", allowed.decisions)
        return record.recorded.id

    def _end(self, allowed: _Allowed, state: TouchState, result: dict[str, Any]) -> None:
        if allowed.record is not None:
            allowed.record.write(state, allowed.decisions, result)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    # ── reporting ────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _reported(
        self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]
    ) -> Iterator[_Report]:
        """Report a call, with its end, as an effect of the run."""
        report, began = _Report(), time.monotonic()

        def send(result: EffectResult) -> None:
            shown = report.effect or Touch(
                gated.name, self._show_arguments(gated.bind(args, named))
            )
            seconds = time.monotonic() - began
            self._session.listener(
                Performed(
                    *(self._session.run, time.time(), self.turn, shown, result, seconds),
                    decisions=report.decisions,
                    redact=self._redactor.redact,
                )
            )

        try:
            yield report
        except PermissionError as error:
            send(Refusal(str(error)))
            raise
        except BaseException as error:
            send(Raised(error))
            raise
        self._redactor.scan([("", report.result)])
        send(Answer(render_value(report.result, _MAX_VALUE_CHARS, self._redactor)))


class _Report:
    """The report of a call (state: as far as it is known)."""

    def __init__(self) -> None:
        self.effect: Touch | None = None
        self.decisions: tuple[InterceptorDecision, ...] = ()
        self.result: Any = None


@contextmanager
def _stopped_clock(is_async: bool) -> Iterator[None]:
    """Stop the limits of time while a decision is waited for, unless the event loop goes on."""
    if is_async:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.start()


def names_function(scope: Scope, gated: GatedFunction) -> bool:
    """Return whether the variables of a block lead to a function: by its name, its module, or an object that holds it."""
    values = scope.list_named_values()
    return any(_leads_to(value, gated.function, _MAX_STEPS) for value in values)


_MAX_STEPS = 3
"""Steps from a variable to a function: the object, its list, its item."""
_MAX_HELD = 100
"""Members of an object that are looked at."""


def _leads_to(value: Any, function: Callable[..., Any], steps: int) -> bool:
    if type(value) is FunctionType:
        return value is function or getattr(value, "__wrapped__", None) is function
    attributes = read_attributes(value)
    if isinstance(value, ModuleType):
        return attributes.get("__name__") == function.__module__
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        held: Iterable[Any] = value
    else:
        held = value.values() if kind is dict else attributes.values()
    return steps > 0 and any(
        _leads_to(each, function, steps - 1) for each in list(islice(held, _MAX_HELD))
    )


_ABSENT = object()


def write_call_result(value: Any) -> dict[str, Any]:
    """Return the stored form of a result: its text and classes, or why it cannot be read back."""
    encoded = encode_values({"result": value}, own="")
    if "result" in encoded.lost:
        return {"lost": encoded.lost["result"]}
    return {"text": encoded.texts["result"], "classes": dict(encoded.classes)}


def read_call_result(recorded: RecordedTouch) -> Any:
    """Return the result of a call that was made before, or raise its exception.

    Raises:
        CallInDoubtError: its result could not be stored.
    """
    result = recorded.result
    if recorded.state == "failed":
        raise failure_from_json(dict(result), CALL_NOTE)
    if "text" not in result:
        raise CallInDoubtError(
            f"{recorded.place}: the call {format_call(recorded.effect)} was made before, but its result could not be stored "
            f"({result.get('lost', 'it is missing')}); let the function return plain values"
        )
    return decode_values({"result": result["text"]}, {}, result.get("classes", {}))["result"]
