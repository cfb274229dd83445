"""Model calls and interceptors' decisions as steps of a workflow.

    DurableModel(model, steps).ask(request)       asked once; after a crash, the stored reply

A step stores JSON: the reply, decision or error, and a digest of its conversation or effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from njrt.decisions import Decision, Interceptor, PendingEffect
from njrt.durable.effects import DurableInterceptor, WorkflowSteps, read_step, write_step
from njrt.effect_json import decision_from_json, decision_to_json, effect_to_json
from njrt.message_json import hash_conversation, hash_json, reply_from_json, reply_to_json
from njrt.messages import Reply, Request
from njrt.models.model import Model, ModelAround, run_without_waiting
from njrt.records import record, replace
from njrt.session.interception import call_interceptor
from njrt.values.failures import failure_to_json


class BlockSteps(WorkflowSteps):
    """The steps of a workflow, or of a branch, including its natural blocks."""

    def wrap_model(self, model: Model) -> Model:
        """Return a model that makes its calls steps; unchanged within a step, which is stored as a whole."""
        return DurableModel(model, self) if self.must_store("a natural block") else model

    def wrap_interceptor(self, decide: Interceptor, name: str) -> Interceptor:
        if not self.must_store("an interceptor") or isinstance(decide, DurableInterceptor):
            return decide
        return make_durable_decide(decide, name, self)


@record
class DurableModel(ModelAround):
    """The model `model`, with each call a step of the workflow around it."""

    model: Model
    steps: WorkflowSteps

    def ask(self, request: Request) -> Reply:
        return run_without_waiting(self._ask(request, is_async=False))

    async def aask(self, request: Request) -> Reply:
        return await self._ask(request, is_async=True)

    async def _ask(self, request: Request, is_async: bool) -> Reply:
        live: list[Reply] = []

        async def call() -> str:
            try:
                live.append(await self.model.aask(request) if is_async else self.model.ask(request))
            except Exception as error:
                return format_failure(request, error)
            return format_reply(request, live[0])

        text = await self.steps.run(f"model call {request.place}".rstrip(), call, is_async)
        return read_reply(request, text, live)


def format_reply(request: Request, reply: Reply) -> str:
    """Return a reply's stored form."""
    key = hash_conversation(request.messages)
    return write_step(key, reply=reply_to_json(reply), model=reply.model)


def format_failure(request: Request, error: Exception) -> str:
    """Return a failed call's stored form: the program has seen the failure, and must see it again."""
    return write_step(hash_conversation(request.messages), failure=failure_to_json(error))


def read_reply(request: Request, text: str, live: Sequence[Reply] = ()) -> Reply:
    """Return the reply in a step, or raise its failure; its source is `recording` unless the step was just made."""
    stored = read_step(text, hash_conversation(request.messages), f"{request.place}: a model call")
    source = live[0].source if live else "recording"
    return replace(reply_from_json(stored["reply"], stored["model"]), source=source)


def hash_effect(pending: PendingEffect) -> str:
    """Return a digest of an effect about which an interceptor decides."""
    return hash_json([pending.place, pending.turn, effect_to_json(pending.effect)])


def format_decision(pending: PendingEffect, decision: Decision, **more: str) -> str:
    """Return a decision's stored form, with `more` fields."""
    return write_step(hash_effect(pending), decision=decision_to_json(decision), **more)


def read_decision(pending: PendingEffect, text: str) -> Decision:
    """Return the decision in a stored step, or raise its failure."""
    stored = read_step(text, hash_effect(pending), f"{pending.place}: an effect")
    return decision_from_json(stored["decision"])


def make_durable_decide(decide: Interceptor, name: str, steps: WorkflowSteps) -> Interceptor:
    """Return the function of an interceptor as a step."""

    async def choose(pending: PendingEffect) -> Decision:
        async def decide_now() -> str:
            try:
                return format_decision(pending, await call_interceptor(decide, name, pending))
            except Exception as error:
                return write_step(hash_effect(pending), failure=failure_to_json(error))

        text = await steps.run(f"decision {name}", decide_now, pending.is_async)
        return read_decision(pending, text)

    def start(pending: PendingEffect) -> Decision | Awaitable[Decision]:
        return choose(pending) if pending.is_async else run_without_waiting(choose(pending))

    return start
