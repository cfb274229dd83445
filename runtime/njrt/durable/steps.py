"""Model calls and decisions of interceptors as steps of a DBOS workflow.

    DurableModel(model).ask(request)       asked once; after a crash, the stored reply

A step is stored when its function has returned. What it stores is JSON: of a call the reply or the error and the digest of its
conversation, of a decision the decision and the digest of the effect. DBOS finds a stored step by its position in the
workflow. The digest shows where the program has taken another way than before the crash: that is an error, never a wrong reply.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any

import njrt.errors
from njrt.decisions import Decision, Interceptor, PendingEffect
from njrt.effect_json import decision_from_json, decision_to_json, effect_to_json
from njrt.errors import ConfigurationError, InterceptorError, NaturalError, RecordingMismatchError
from njrt.message_json import (
    format_json_line,
    hash_conversation,
    hash_json,
    reply_from_json,
    reply_to_json,
)
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Model


@dataclass(frozen=True, slots=True)
class DurableModel:
    """`model`, each call of which is a step of the workflow around it."""

    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def protocol(self) -> Protocol:
        return self.model.protocol

    def ask(self, request: Request) -> Reply:
        def call() -> str:
            try:
                return format_reply(request, self.model.ask(request))
            except NaturalError as error:
                return format_failure(request, error)

        from dbos import DBOS

        check_no_event_loop(request.place)
        return read_reply(request, DBOS.run_step({"name": make_step_name(request)}, call))

    async def aask(self, request: Request) -> Reply:
        from dbos import DBOS

        async def call() -> str:
            try:
                return format_reply(request, await self.model.aask(request))
            except NaturalError as error:
                return format_failure(request, error)

        return read_reply(
            request, await DBOS.run_step_async({"name": make_step_name(request)}, call)
        )


def make_step_name(request: Request) -> str:
    """The name of the step of a model call."""
    return f"model call {request.place}".rstrip()


def format_reply(request: Request, reply: Reply) -> str:
    """What is stored of a reply."""
    stored = {"key": hash_conversation(request.messages), "reply": reply_to_json(reply)}
    return format_json_line(stored | {"model": reply.model})


def format_failure(request: Request, error: NaturalError) -> str:
    """What is stored of a call that failed: the program has seen the failure, and must see it again."""
    failure = {"kind": type(error).__name__, "message": str(error), "place": error.place}
    return format_json_line({"key": hash_conversation(request.messages), "failure": failure})


def read_reply(request: Request, text: str) -> Reply:
    """The reply in a stored step, or its failure raised."""
    stored = json.loads(text)
    check_digest(
        stored["key"], hash_conversation(request.messages), f"{request.place}: a model call"
    )
    if failure := stored.get("failure"):
        raise make_failure(failure)
    return replace(reply_from_json(stored["reply"], stored["model"]), source="recording")


def make_failure(failure: dict[str, Any]) -> NaturalError:
    """The error that was stored."""
    kind = getattr(njrt.errors, failure["kind"], NaturalError)
    error: NaturalError = kind(failure["message"])
    error.place = failure["place"]
    return error


def check_digest(stored: str, now: str, what: str) -> None:
    """Raise `RecordingMismatchError` if a stored step belongs to something else."""
    if stored != now:
        from dbos import DBOS

        raise RecordingMismatchError(
            f"{what} differs from the one that the workflow {DBOS.workflow_id} made at this point before it was interrupted; "
            "a workflow must do the same each time: make what is not the same a step (DBOS.step), and run blocks that run "
            "at the same time in workflows of their own"
        )


def check_no_event_loop(place: str) -> None:
    """Raise `ConfigurationError` in a plain function that an async workflow has called."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError(
        f"{place}: the block is in a plain function that an async workflow calls; make the function async"
    )


def make_durable_decide(decide: Interceptor, name: str) -> Interceptor:
    """The function of an interceptor as a step."""
    from dbos import DBOS

    def choose(pending: PendingEffect) -> Decision | Awaitable[Decision]:
        key = hash_json([pending.place, pending.turn, effect_to_json(pending.effect)])
        options: Any = {"name": f"decision {name}"}

        def read(text: str) -> Decision:
            stored = json.loads(text)
            check_digest(stored["key"], key, f"{pending.place}: an effect")
            if failure := stored.get("failure"):
                raise make_failure(failure)
            return decision_from_json(stored["decision"])

        def write(decision: Decision) -> str:
            return format_json_line({"key": key, "decision": decision_to_json(decision)})

        def write_failure(error: Exception) -> str:
            shown = (
                error if isinstance(error, NaturalError) else make_interceptor_error(name, error)
            )
            failure = {"kind": type(shown).__name__, "message": str(shown), "place": shown.place}
            return format_json_line({"key": key, "failure": failure})

        def decide_now() -> str:
            try:
                return write(_get_decision(decide(pending)))
            except Exception as error:
                return write_failure(error)

        async def decide_later() -> str:
            try:
                answer = decide(pending)
                return write(await answer if inspect.isawaitable(answer) else _get_decision(answer))
            except Exception as error:
                return write_failure(error)

        async def choose_later() -> Decision:
            return read(await DBOS.run_step_async(options, decide_later))

        if pending.is_async:
            return choose_later()
        check_no_event_loop(pending.place)
        return read(DBOS.run_step(options, decide_now))

    return choose


def make_interceptor_error(name: str, error: Exception) -> InterceptorError:
    """The error for an exception of an interceptor."""
    return InterceptorError(f"the interceptor `{name}` raised {type(error).__name__}: {error}")


def _get_decision(answer: Any) -> Decision:
    if inspect.iscoroutine(answer):
        answer.close()
        raise ConfigurationError(
            "an interceptor that is a coroutine function needs a block in an async function"
        )
    decision: Decision = answer
    return decision
