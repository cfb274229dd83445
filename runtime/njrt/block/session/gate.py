"""One block run's gate: each call of a gated function is decided, made once, recorded and reported.

pay(order)    rule -> interceptors -> recorded before? -> begun -> pay(order) -> done -> Performed

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

from njrt.block.session.call_arguments import (
    MAX_VALUE_CHARS,
    copy_containers,
    digest_arguments,
    show_arguments,
)
from njrt.block.session.interception import (
    RecordedSlot,
    apply_recorded_decisions,
    ask_all,
    is_final,
)
from njrt.block.session.session import Session, make_ending_error, warn_at
from njrt.data.coroutines import run_without_waiting
from njrt.data.decisions import (
    Abort,
    Accept,
    Edit,
    InterceptorDecision,
    Pause,
    PendingEffect,
    Reject,
    decides_changes,
    is_observer,
)
from njrt.data.message_json import hash_json
from njrt.data.outcome import Raised
from njrt.data.timeouts import paused
from njrt.effects import CHANGES, Answer, Effect, EffectResult, Refusal, Touch
from njrt.errors import CallInDoubtError, InterceptorError, NaturalError
from njrt.events import Performed
from njrt.execution.gates import (
    CallRule,
    Find,
    GatedFunction,
    find_plain_function,
    get_gated,
    keyed,
    open_gate,
)
from njrt.execution.scope.scope import Scope
from njrt.log.recording_file import RecordedTouch, TouchState
from njrt.values.effect_json import effect_to_json, format_call
from njrt.values.encode import NotEncodableError, decode_value, encode_value
from njrt.values.failures import CALL_NOTE, add_place, failure_from_json, failure_to_json
from njrt.values.rendering.describe import render_value
from njrt.values.rendering.endings import format_error_line
from njrt.values.rendering.redaction import REDACTED, Redactor

UNSTORED = "the recording cannot be replayed; let the function return plain values"


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
        """Error that has ended the block, kept even if the code catches it."""
        self.rules = session.settings.calls
        self._session, self._describe, self._redactor = session, describe, redactor
        self._scope = scope
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._number = self._running = 0

    @property
    def asks_changes(self) -> bool:
        return self._session.asks_changes

    def call(self, gated: GatedFunction, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make a call if it is allowed; return its result, an awaitable for a coroutine function.

        Raises PermissionError if the call is refused, and NaturalError if an interceptor ended the
        block or the recording has a different call.
        """
        is_async = inspect.iscoroutinefunction(gated.function)
        made: Any = self._call(_Call(gated, args, named, is_async))
        made.__name__ = gated.name.rpartition(".")[2]
        return made if is_async else run_without_waiting(made)

    async def _call(self, call: _Call) -> Any:
        """Make a call, and report it with its ending as an effect of the run.

        Nothing is awaited unless the function is a coroutine function.
        """
        began = time.monotonic()
        try:
            self._check_ending()
            pending = self._prepare(call)
            with open_gate(None, call.is_async), paused(everywhere=not call.is_async):
                try:
                    await self._decide(call, pending)
                except PermissionError:
                    with self._lock:
                        self._counts[call.gated.name] -= 1  # a refused call does not count
                    raise
            found = await self._perform(call)
        except PermissionError as error:
            self._report(call, Refusal(str(error)), began)
            raise
        except BaseException as error:
            if isinstance(error, CallInDoubtError):
                self.ending = error  # the code must not make the call again
            self._report(call, Raised(error), began)
            raise
        self._redactor.scan([("", found)])
        self._report(call, Answer(render_value(found, MAX_VALUE_CHARS, self._redactor)), began)
        return found

    def decide_changes(self, changes: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
        """Have the interceptors decide about changes, as about a call of `CHANGES`.

        Returns the edited new values by path. Raises as `call` does, and InterceptorError if an
        edit has other paths.
        """
        shown = show_arguments({"changes": changes}, self._redactor)["changes"]

        def apply(changes: Any) -> dict[str, Any]:
            made = show_arguments({"changes": changes}, self._redactor)["changes"]
            if made.keys() != shown.keys() or not all(
                type(it) is dict and it.keys() == shown[path].keys() for path, it in made.items()
            ):
                raise InterceptorError("an edit of changes has the same paths and keys as they")
            # As text, because `True == 1 == 1.0`.
            edited = {path for path in made if repr(made[path]) != repr(shown[path])}
            return {path: changes[path].get("now") for path in edited}

        apply.__module__, _, apply.__qualname__ = CHANGES.rpartition(".")
        edits: Mapping[str, Any] = self.call(GatedFunction(apply, CallRule()), (changes,), {})
        return edits

    def _report(self, call: _Call, result: EffectResult, began: float) -> None:
        effect, seconds = call.effect or Touch(call.gated.name, {}), time.monotonic() - began
        self._session.listener(
            Performed(
                *(self._session.run, time.time(), self.turn, effect, result, seconds),
                decisions=call.decisions,
                redact=self._redactor.redact,
            )
        )

    def _check_ending(self) -> None:
        """Raise the error that ends the block, if an interceptor has ended it."""
        if self.ending is not None:
            raise self.ending

    def _prepare(self, call: _Call) -> PendingEffect:
        """Check the function's rule, and describe the call."""
        gated, rule = call.gated, call.gated.rule
        if rule.decide == "ask":  # the call is made with what was shown
            call.args, call.named = copy_containers((call.args, call.named))
        arguments = gated.bind(call.args, call.named)
        call.effect = Touch(gated.name, show_arguments(arguments, self._redactor))
        with self._lock:
            self._number += 1
            number = self._number
        if rule.decide == "deny":
            raise PermissionError(f"calls of {gated.name} are not allowed here")
        if rule.named and not any(map(partial(_names, gated), self._scope.list_named_values())):
            raise PermissionError(
                f"the prompt does not name {gated.name}: write `<{gated.name}>` in it to allow the "
                "call"
            )
        with open_gate(None, call.is_async):
            refusal = rule.refuse(call.args, call.named)
        if refusal:
            raise PermissionError(f"{format_call(effect_to_json(call.effect))}: {refusal}")
        with self._lock:
            if rule.at_most is not None and self._counts[gated.name] >= rule.at_most:
                times = "once" if rule.at_most == 1 else f"{rule.at_most} times"
                raise PermissionError(f"{gated.name} may be called {times} here")
            self._counts[gated.name] += 1
        pending = self._describe(call.effect, self.turn, number)
        digest = digest_arguments(arguments, self._redactor)
        return replace(pending, is_async=call.is_async, arguments=arguments, digest=digest)

    async def _decide(self, call: _Call, pending: PendingEffect) -> None:
        """Ask the interceptors, unless the rule or recording decides; apply their edits."""
        session = self._session
        if session.record is not None:
            call.record = session.record.take_call(pending, is_alone=self._running == 0)
        record = call.record
        interceptors = session.interceptors
        if call.gated.name == CHANGES:
            interceptors = tuple(it for it in interceptors if decides_changes(it) or it.asks_again)
        if call.gated.rule.decide == "allow":
            # A debugger still stops.
            interceptors = tuple(opened for opened in interceptors if opened.asks_again)
        elif all(map(is_observer, interceptors)) and not (record and record.decisions):
            raise PermissionError(
                f"nobody decides about calls of {call.gated.name}: the program must open"
                " njrt.using(intercept=...) around the block, such as"
                ' intercept=njrt.approve(calls=True), or write @njrt.gated(decide="allow")'
            )
        if record and not record.recorder.records and record.recorded.state == "pending":
            raise record.recorder.make_unmade_error(record.recorded)
        made, asked, edited = apply_recorded_decisions(pending, interceptors, record)
        call.decisions = decisions = (*made, *await ask_all(edited, asked, interceptors))
        last = decisions[-1].decision if decisions else Accept()
        is_made = record is not None and record.recorded.was_made
        if is_final(last) and not isinstance(last, Abort) and not is_made:
            call.write("rejected" if isinstance(last, Reject) else "pending")
        match last:
            case Reject(words):
                raise PermissionError(words)
            case Abort() | Pause():
                self.ending = make_ending_error(last, decisions[-1].interceptor, session)
                raise self.ending
        if (
            call.gated.rule.decide == "ask"
            and digest_arguments(pending.arguments, self._redactor) != pending.digest
        ):
            raise PermissionError(
                f"an object among the arguments of {call.gated.name} was changed while the call was"
                " decided; call it again"
            )
        for each in decisions:
            if isinstance(each.decision, Edit):
                self._edit(call, each.decision.effect, each.interceptor)

    def _edit(self, call: _Call, after: Effect, interceptor: str) -> None:
        """Replace the arguments of a call; one that is left as shown stays the program's object."""
        before = call.effect
        assert isinstance(before, Touch)
        assert isinstance(after, Touch)
        signature = inspect.signature(call.gated.function)
        if unknown := after.arguments.keys() - signature.parameters.keys():
            raise InterceptorError(
                f"the interceptor `{interceptor}` edited a call: {after.function} has no argument "
                f"{min(unknown)}"
            )
        bound = signature.bind(*call.args, **call.named)
        given = dict(bound.arguments)
        for name, new in after.arguments.items():
            if name in given and hash_json(before.arguments[name]) == hash_json(new):
                continue
            if REDACTED in json.dumps(new, ensure_ascii=False, default=str):
                raise InterceptorError(
                    f"the interceptor `{interceptor}` edited a call of {after.function}: a text"
                    f" with {REDACTED} would be passed on; leave the argument {name} as it is,"
                    " or replace all of it"
                )
            given[name] = new
        names = [name for name in signature.parameters if name in after.arguments]
        bound.arguments = {name: given[name] for name in names}
        call.args, call.named, call.effect = bound.args, dict(bound.kwargs), after

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
                    f"{self._session.place}: the call {format_call(record.recorded.effect)} (key"
                    f" {record.recorded.id}) was interrupted by a crash, and may have been made; it"
                    " is not made again. Give njrt.gated a function `find` that looks the call up"
                    " and returns its result; only if you know that it was not made, remove its"
                    f" lines from {record.recorder.place.name}"
                )
            found = await self._find_result(call, find, record.recorded.id)
        if record is not None and not record.recorder.records and found is None:
            raise record.recorder.make_unmade_error(record.recorded)
        with self._under_way():
            call.write("begun")
            try:
                if found is None:
                    key = uuid.uuid4().hex if record is None else record.recorded.id
                    with keyed(key, call.is_async):
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
                    text = f"a result of {call.gated.name} cannot be stored ({stored['lost']}), so "
                    warn_at(self._session.place, text + UNSTORED)
            return found

    async def _find_result(self, call: _Call, find: Find, key: str) -> Any:
        try:
            with open_gate(None, call.is_async):
                found = find(key)
                if inspect.iscoroutine(found) and not call.is_async:
                    found.close()
                    raise TypeError("`find` is async, but the function is not")
                return await found if inspect.isawaitable(found) else found
        except Exception as error:
            raise CallInDoubtError(
                f"{self._session.place}: the call {call.gated.name} (key {key}) was interrupted by"
                " a crash, and `find` failed to look whether it was made:"
                f" {format_error_line(error)}; it is not made again"
            ) from error

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with self._lock:
            self._check_ending()
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1


def _names(gated: GatedFunction, value: Any) -> bool:
    """Return whether a variable of the prompt is a gated function, or its module."""
    function = gated.function
    if isinstance(value, ModuleType):
        return vars(value).get("__name__") == function.__module__
    return find_plain_function(value) is function or get_gated(value) is gated


def write_call_result(value: Any) -> dict[str, Any]:
    """Return a result's stored form: its text and classes, or why it cannot be read back."""
    try:
        text, classes = encode_value(value)
    except NotEncodableError as error:
        return {"lost": str(error)}
    return {"text": text, "classes": classes}


def read_call_result(recorded: RecordedTouch) -> Any:
    """Return or raise an earlier call's outcome; raise CallInDoubtError if it was not stored."""
    result = recorded.result
    if recorded.state == "failed":
        raise failure_from_json(dict(result))
    if "text" not in result:
        raise CallInDoubtError(
            f"{recorded.place}: the call {format_call(recorded.effect)} was made before, but its"
            f" result could not be stored ({result.get('lost', 'it is missing')}); let the function"
            " return plain values"
        )
    return decode_value(result["text"], result.get("classes", {}))
