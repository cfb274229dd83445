"""The gate of one block run: each call of a gated function is decided, made once, recorded and reported.

pay(order)    rule  ->  interceptors  ->  recorded before?  ->  begun  ->  pay(order)  ->  done  ->  Performed(Touch(...))

refused       PermissionError in the code, which may continue
aborted       the block ends
paused        the block ends; a run with its recording does not repeat the calls that were done
"""

from __future__ import annotations

import inspect
import json
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

from njrt.context import is_in_event_loop
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
from njrt.errors import CallInDoubtError, InterceptorError, NaturalError
from njrt.events import Performed
from njrt.gates import Find, GatedFunction, keyed, open_gate, require_awaited, run_check
from njrt.message_json import hash_json
from njrt.models.model import run_without_waiting
from njrt.observability.accounts import format_error_line
from njrt.outcome import Raised
from njrt.persistence.recording_file import RecordedTouch, TouchState
from njrt.rendering.describe import render_value
from njrt.rendering.redaction import REDACTED, Redactor
from njrt.scope.scope import Scope
from njrt.session.interception import RecordedSlot, ask_interceptors, is_final
from njrt.session.session import Session, make_ending_error
from njrt.timeouts import clock, read_clock, stopped_alarms
from njrt.values.digest import digest_value
from njrt.values.encode import decode_values, encode_values
from njrt.values.failures import CALL_NOTE, add_place, failure_from_json, failure_to_json
from njrt.values.introspection import is_exactly, read_attributes

_MAX_VALUE_CHARS = 200
"""Characters that the recording and interceptors show of a value that is not JSON."""
_MAX_DEPTH = 6
_POLL_SECONDS = 0.01


@dataclass(slots=True)
class _Call:
    """One call of a gated function (state: how far it has come)."""

    gated: GatedFunction
    args: tuple[Any, ...]
    named: dict[str, Any]
    is_async: bool
    effect: Touch | None = None
    decisions: tuple[InterceptorDecision, ...] = ()
    record: RecordedSlot[RecordedTouch] | None = None
    result: Any = None

    def write(self, state: TouchState, result: dict[str, Any] | None = None) -> None:
        if self.record is not None:
            self.record.write(state=state, decisions=self.decisions, result=result or {})


class RunGate:
    """The gate of one run (state: the turn, the calls so far, how many are running)."""

    def __init__(
        self,
        session: Session,
        scope: Scope,
        describe: Callable[[Effect, int, int], PendingEffect],
        redactor: Redactor,
    ) -> None:
        self.turn = 0
        self.ending: NaturalError | None = None
        """Error of an interceptor that has ended the block, kept even if the code catches it."""
        self.unstored: dict[str, str] = {}
        """Why results could not be stored, by function."""
        self.rules = session.settings.calls
        self._session, self._describe, self._redactor = session, describe, redactor
        self._scope = scope
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._number = self._running = 0

    @property
    def signs(self) -> tuple[str, ...]:
        """The warnings at the end of the block."""
        return tuple(
            f"a result of {name} cannot be stored ({why}), so the recording cannot be replayed; let the function return "
            "plain values"
            for name, why in self.unstored.items()
        )

    def call(self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call if it is allowed; return its result, which for a coroutine function is an awaitable.

        Raises PermissionError if the call is refused, and NaturalError if an interceptor ended the block or the
        recording has a different call.
        """
        is_async = inspect.iscoroutinefunction(gated.function)
        made = self._call(_Call(gated, args, named, is_async))
        return made if is_async else run_without_waiting(made)

    async def _call(self, call: _Call) -> Any:
        """Make a call, and report it with its ending as an effect of the run.

        Nothing is awaited unless the function is a coroutine function.
        """
        began = time.monotonic()
        try:
            await self._check_ending(call)
            pending = self._prepare(call)
            with open_gate(None), self._session.meter.stopped(), _stopped_clock(call.is_async):
                try:
                    await self._decide(call, pending)
                except PermissionError:
                    with self._lock:
                        self._counts[call.gated.name] -= 1  # a refused call does not count
                    raise
            await self._check_ending(call)
            call.result = await self._perform(call)
        except PermissionError as error:
            self._report(call, Refusal(str(error)), began)
            raise
        except BaseException as error:
            self._report(call, Raised(error), began)
            raise
        self._redactor.scan([("", call.result)])
        shown = render_value(call.result, _MAX_VALUE_CHARS, self._redactor)
        self._report(call, Answer(shown), began)
        return call.result

    def _report(self, call: _Call, result: EffectResult, began: float) -> None:
        gated, seconds = call.gated, time.monotonic() - began
        effect = call.effect or Touch(
            gated.name, self._show_arguments(gated.bind(call.args, call.named))
        )
        self._session.listener(
            Performed(
                *(self._session.run, time.time(), self.turn, effect, result, seconds),
                decisions=call.decisions,
                redact=self._redactor.redact,
            )
        )

    async def _check_ending(self, call: _Call) -> None:
        """Raise the error that ends the block, but first wait until the results of running calls are recorded."""
        if self.ending is None:
            return
        if call.is_async:
            import asyncio

            while self._running and is_in_event_loop():
                await asyncio.sleep(_POLL_SECONDS)
        raise self.ending

    def wait_for_calls(self) -> None:
        """If an interceptor ended the block, wait until the running calls in other threads are recorded.

        This waits as long as a piece of code may run. An event loop does not wait here.
        """
        if self.ending is None or is_in_event_loop():
            return
        seconds, began = self._session.get_code_seconds(), read_clock()
        while self._running and (seconds is None or read_clock() - began < seconds):
            time.sleep(_POLL_SECONDS)

    # ── deciding ─────────────────────────────────────────────────────────────────────────────────

    def _prepare(self, call: _Call) -> PendingEffect:
        """Check the function's rule, and describe the call."""
        gated, rule = call.gated, call.gated.rule
        arguments = gated.bind(call.args, call.named)
        effect = Touch(gated.name, self._show_arguments(arguments))
        with self._lock:
            self._number += 1
            number = self._number
        if rule.decide == "deny":
            raise PermissionError(f"calls of {gated.name} are not allowed here")
        values = self._scope.list_named_values() if rule.named else ()
        if rule.named and not any(_leads_to(it, gated.function, _MAX_STEPS) for it in values):
            raise PermissionError(
                f"the prompt does not name {gated.name}: write `<{gated.name}>` in it to allow the call"
            )
        if rule.check is not None:
            with open_gate(None):
                answer = run_check(rule.check, call.args, call.named)
            if isinstance(answer, str) or not answer:
                reason = answer if isinstance(answer, str) and answer else "its check refuses it"
                raise PermissionError(f"{format_call(effect_to_json(effect))}: {reason}")
        with self._lock:
            if rule.at_most is not None and self._counts[gated.name] >= rule.at_most:
                times = "once" if rule.at_most == 1 else f"{rule.at_most} times"
                raise PermissionError(f"{gated.name} may be called {times} here")
            self._counts[gated.name] += 1
        pending = self._describe(effect, self.turn, number)
        digest = hash_json({name: self._digest(value) for name, value in arguments.items()})
        return replace(pending, is_async=call.is_async, arguments=arguments, digest=digest)

    def _digest(self, value: Any) -> Any:
        """Return a digest of the content of an argument; of an object with unknown state, its shown text."""
        try:
            return digest_value(value)
        except Exception:  # also raised by the program's own code
            return self._show(value)

    def _show_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._redactor.scan(arguments.items())
        return {name: self._show(value) for name, value in arguments.items()}

    def _show(self, value: Any, depth: int = 0) -> Any:
        """Return a value as JSON, redacted, or its text if it has no JSON form."""
        kind = type(value)
        if value is None or is_exactly(value, bool, int, float):
            return value
        if kind is str:
            return self._redactor.redact(value)
        if depth < _MAX_DEPTH and is_exactly(value, list, tuple):
            return [self._show(member, depth + 1) for member in value]
        if depth < _MAX_DEPTH and kind is dict and all(type(key) is str for key in value):
            return {key: self._show(member, depth + 1) for key, member in value.items()}
        return render_value(value, _MAX_VALUE_CHARS, self._redactor)

    async def _decide(self, call: _Call, pending: PendingEffect) -> None:
        """Ask the interceptors, unless the rule or the recording decides; apply their edits to the call."""
        session = self._session
        if session.record is not None:
            call.record = session.record.take_call(pending, is_alone=self._running == 0)
        record = call.record
        call.effect = cast(Touch, pending.effect)
        interceptors = session.interceptors
        if call.gated.rule.decide == "allow":
            # A debugger still stops.
            interceptors = tuple(opened for opened in interceptors if opened.asks_again)
        elif all(map(is_observer, interceptors)) and not (record and record.decisions):
            raise PermissionError(
                f"nobody decides about calls of {call.gated.name}: the program must open njrt.using(intercept=...) "
                'around the block, such as intercept=njrt.approve(calls=True), or write @njrt.gated(decide="allow")'
            )
        if record and record.is_replay and record.recorded.state == "pending":
            raise record.make_unmade_error()
        decisions = call.decisions = tuple(await ask_interceptors(pending, interceptors, record))
        last = decisions[-1].decision if decisions else Accept()
        is_made = record is not None and record.recorded.was_made
        if is_final(last) and not isinstance(last, Abort) and not is_made:
            call.write("rejected" if isinstance(last, Reject) else "pending")
        match last:
            case Reject(words):
                raise PermissionError(words)
            case Abort() | Pause():
                ending = make_ending_error(last, decisions[-1].interceptor, session)
                with self._lock:
                    self.ending = ending
                return
        for made in decisions:
            if isinstance(made.decision, Edit):
                self._edit(call, made.decision.effect, made.interceptor)

    def _edit(self, call: _Call, after: Effect, interceptor: str) -> None:
        """Change a call's arguments; unchanged parts stay the program's objects."""
        before = call.effect
        assert isinstance(before, Touch)
        assert isinstance(after, Touch)
        given = call.gated.bind(call.args, call.named)
        signature = inspect.signature(call.gated.function)
        bound = signature.bind(*call.args, **call.named)
        if unknown := after.arguments.keys() - signature.parameters.keys():
            raise InterceptorError(
                f"the interceptor `{interceptor}` edited a call: {after.function} has no argument {min(unknown)}"
            )
        try:
            edited = _edit_value(dict(before.arguments), dict(after.arguments), given)
        except ValueError:
            raise InterceptorError(
                f"the interceptor `{interceptor}` edited a call of {after.function}: a text with {REDACTED} would be passed "
                "on; leave it as it is, or replace it by a whole text"
            ) from None
        bound.arguments.clear()
        bound.arguments.update(
            (name, edited[name]) for name in signature.parameters if name in edited
        )
        call.args, call.named, call.effect = bound.args, dict(bound.kwargs), after

    # ── making the call once ─────────────────────────────────────────────────────────────────────

    async def _perform(self, call: _Call) -> Any:
        """Make an allowed call, or return its recorded result.

        Raises CallInDoubtError if a crash interrupted the call, which may have been made.
        """
        function, record, find = call.gated.function, call.record, call.gated.rule.find
        if record is not None and record.recorded.was_made:
            return read_call_result(record.recorded)
        found = None
        if record is not None and record.recorded.state == "begun":
            if find is None:
                raise CallInDoubtError(
                    f"{self._session.place}: the call {format_call(record.recorded.effect)} (key {record.recorded.id}) was "
                    "interrupted by a crash, and may have been made; it is not made again. Find out whether it was made, or give "
                    f"njrt.gated a function `find` that does; then remove its lines from {record.path}, or set their "
                    "state to done"
                )
            found = await self._find_result(call, find, record.recorded.id)
        if record is not None and record.is_replay and found is None:
            raise record.make_unmade_error()
        with self._under_way():
            call.write("begun")
            try:
                if found is None:
                    with keyed(uuid.uuid4().hex if record is None else record.recorded.id):
                        found = function(*call.args, **call.named)
                        found = await found if call.is_async else found
            except Exception as error:
                if record is None:
                    raise
                failure = failure_to_json(error)
                call.write("failed", failure)
                # As in a replay, which does not have the function's frames.
                if failure["at"]:
                    add_place(error, CALL_NOTE + failure["at"])
                raise error.with_traceback(None) from error.__cause__
            if record is not None:
                stored = write_call_result(found)
                call.write("done", stored)
                if "lost" in stored:
                    self.unstored[call.gated.name] = stored["lost"]
            return found

    async def _find_result(self, call: _Call, find: Find, key: str) -> Any:
        try:
            with open_gate(None):
                found = find(key)
            return await require_awaited(found, call.is_async)
        except Exception as error:
            raise CallInDoubtError(
                f"{self._session.place}: the call {call.gated.name} (key {key}) was interrupted by a crash, and `find` failed "
                f"to look whether it was made: {format_error_line(error)}; it is not made again"
            ) from error

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with self._lock:
            if self.ending is not None:
                raise self.ending
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1


@contextmanager
def _stopped_clock(is_async: bool) -> Iterator[None]:
    """Stop the time limits while waiting for a decision; if the event loop continues, only the waiting code's."""
    if is_async:
        with stopped_alarms():
            yield
        return
    try:
        clock.stop()
        yield
    finally:
        clock.start()


_MAX_STEPS = 3
"""Steps from a variable to a function: the object, its list, its item."""
_MAX_HELD = 100
"""How many members of an object are searched at most."""


def _leads_to(value: Any, function: Callable[..., Any], steps: int) -> bool:
    if type(value) is FunctionType:
        return value is function or getattr(value, "__wrapped__", None) is function
    attributes = read_attributes(value)
    if isinstance(value, ModuleType):
        return attributes.get("__name__") == function.__module__
    kind = type(value)
    if is_exactly(value, list, tuple, set, frozenset):
        held: Iterable[Any] = value
    else:
        held = value.values() if kind is dict else attributes.values()
    return steps > 0 and any(
        _leads_to(each, function, steps - 1) for each in list(islice(held, _MAX_HELD))
    )


def _edit_value(shown: Any, edited: Any, value: Any) -> Any:
    """Return a value with its shown form's edits applied; parts shown as before stay the same objects.

    Raises ValueError if a new text has a redacted part.
    """
    if type(shown) is type(edited) and shown == edited:
        return value
    if isinstance(shown, dict) and isinstance(edited, dict) and type(value) is dict:
        return {
            name: _edit_value(shown.get(name), part, value.get(name))
            for name, part in edited.items()
        }
    if isinstance(shown, list) and isinstance(edited, list) and is_exactly(value, list, tuple):
        places = [
            number
            if shown[number : number + 1] == [part] or part not in shown
            else shown.index(part)
            for number, part in enumerate(edited)
        ]
        return type(value)(
            _edit_value(shown[at], part, value[at])
            if at < len(shown)
            else _edit_value("", part, "")
            for at, part in zip(places, edited, strict=True)
        )
    if REDACTED in json.dumps(edited, ensure_ascii=False, default=str):
        raise ValueError
    return edited


def write_call_result(value: Any) -> dict[str, Any]:
    """Return a result's stored form: its text and classes, or why it cannot be read back."""
    encoded = encode_values({"result": value}, own="")
    if "result" in encoded.lost:
        return {"lost": encoded.lost["result"]}
    return {"text": encoded.texts["result"], "classes": dict(encoded.classes)}


def read_call_result(recorded: RecordedTouch) -> Any:
    """Return an earlier call's result, or raise its exception; raise CallInDoubtError if it could not be stored."""
    result = recorded.result
    if recorded.state == "failed":
        raise failure_from_json(dict(result))
    if "text" not in result:
        raise CallInDoubtError(
            f"{recorded.place}: the call {format_call(recorded.effect)} was made before, but its result could not be stored "
            f"({result.get('lost', 'it is missing')}); let the function return plain values"
        )
    return decode_values({"result": result["text"]}, {}, result.get("classes", {}))["result"]
