"""Models around other models, written once for threads and event loops alike.

    class RetryModel(WrappedModel):
        async def answer(self, request, calls):
            attempts = Attempts(request, calls)
            result = await attempts.ask(self.model)          a Reply or a ModelError
            return attempts.finish(result)                   with the usage of all calls

`Attempts` checks the run's limits before each call after the first; the reply or error lists all calls that it took.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from njrt.errors import ConfigurationError, LimitError, ModelError, NaturalError, NotAskedError
from njrt.messages import CallAttempt, Protocol, Reply, Request, Usage, add_usage
from njrt.models.model import CallLister, LayeredModel, Model, run_without_waiting


class BlockingCalls:
    """Asks and waits in this thread."""

    async def ask(self, model: Model, request: Request) -> Reply:
        return add_call_layer(model, request).ask(request)

    async def wait(self, seconds: float) -> None:
        time.sleep(seconds)


class AwaitedCalls:
    """Asks and waits without blocking the event loop.

    asyncio is imported when needed, so that a program without an event loop does not load it.
    """

    async def ask(self, model: Model, request: Request) -> Reply:
        return await add_call_layer(model, request).aask(request)

    async def wait(self, seconds: float) -> None:
        import asyncio

        await asyncio.sleep(seconds)


Calls = BlockingCalls | AwaitedCalls


class WrappedModel(CallLister, ABC):
    """A `Model` around others. A subclass defines `answer`, which awaits only `calls`."""

    models: tuple[Model, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the models inside."""

    @property
    def protocol(self) -> Protocol:
        """Text if any of `models` prefers it, because models that prefer tools can also answer in text."""
        return "text" if any(model.protocol == "text" for model in self.models) else "tools"

    @abstractmethod
    async def answer(self, request: Request, calls: Calls) -> Reply:
        """Answer `request` by asking the models inside."""

    def ask(self, request: Request) -> Reply:
        return run_without_waiting(self.answer(request, BlockingCalls()))

    async def aask(self, request: Request) -> Reply:
        return await self.answer(request, AwaitedCalls())


def list_inner_models(model: Any) -> list[Model]:
    """Return the models that a wrapper asks; empty for any other model."""
    parts = (*getattr(model, "models", ()), getattr(model, "model", None))
    return [part for part in parts if hasattr(part, "aask")]


def adapt_model(given: Any) -> Model:
    """Return a model that a program gives: ours, one of its own, or a model object of PydanticAI."""
    missing = [name for name in ("name", "protocol", "ask", "aask") if not hasattr(given, name)]
    if not missing and not isinstance(given, type):
        model: Model = given
        return model
    bases = type(given).__mro__
    if any(base.__name__ == "Model" and "pydantic_ai" in base.__module__ for base in bases):
        from njrt.models.pydantic_ai import PydanticAI

        return PydanticAI(given)
    match given:
        case str():
            problem = f"the text {given!a} is not a model"
        case type():
            problem = f"the class {given.__name__} is not a model; pass an object of it"
        case _:
            lacks = f" (it has no `{missing[0]}`)" if len(missing) < 4 else ""
            problem = f"an object of class {type(given).__name__} is not a model{lacks}"
    raise ConfigurationError(
        f'{problem}; pass one such as njrt.models.OpenAI("gpt-4.1"), '
        "njrt.models.get_model(NAME), or a model object of PydanticAI"
    )


def add_call_layer(model: Model, request: Request) -> Model:
    """Return the model behind the request's layer for single calls; a wrapper passes the layer on."""
    if request.call_layer is None or isinstance(model, WrappedModel):
        return model
    return LayeredModel(model, (request.call_layer(model),))


Result = Reply | ModelError
"""The result of a call."""

NOTHING = Usage(usd=0.0)


def require_numbers(
    owner: str, whole: Mapping[str, Any], real: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Raise ConfigurationError if an argument is not a whole number or a number; None is not given."""
    for name, value in {**whole, **real}.items():
        kinds = (int,) if name in whole else (int, float)
        if value is not None and type(value) not in kinds:
            kind = "whole number" if name in whole else "number"
            raise ConfigurationError(f"{owner}: {name} must be a {kind}, not {value!r}")


class Attempts:
    """The calls that a wrapper makes for one request (state: those made so far)."""

    def __init__(self, request: Request, calls: Calls) -> None:
        self._calls = calls
        self._request = request
        self._began = time.monotonic()
        self._made: list[tuple[Reply | NaturalError, tuple[CallAttempt, ...]]] = []
        self._reply: Reply | None = None

    @property
    def are_made(self) -> bool:
        """Whether a model has been asked."""
        return bool(self._made)

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for the request; None for no limit."""
        if self._request.seconds_left is None:
            return None
        return self._request.seconds_left - (time.monotonic() - self._began)

    async def ask(self, model: Model, **changes: Any) -> Result | None:
        """Ask a model, with `changes` to the request; a `ModelError` is returned, not raised.

        If the run may make no further call, the result is None after a reply, else a `LimitError` is
        raised. If no time is left, no model is asked.
        """
        left = self.seconds_left
        if left is not None:
            if left <= 0:
                return NotAskedError("no time is left to ask another model")
            changes |= {"timeout": min(self._request.timeout, left), "seconds_left": left}
        if self._made:
            try:
                self._check_next_call(NOTHING)
            except LimitError:
                if self._reply is None:
                    raise
                return None
        began = time.monotonic()
        request = replace(self._request, before_call=self._check_next_call, **changes)
        try:
            reply = await self._calls.ask(model, request)
        except ModelError as error:
            # With any other model, the error may be one that was raised before.
            inner = error.attempts if isinstance(model, CallLister) else ()
            if inner or not isinstance(error, NotAskedError):
                made = CallAttempt(model.name, type(error).__name__, NOTHING, _measure(began))
                self._made.append((error, inner or (made,)))
            return error
        except NaturalError as error:
            self._made.append((error, error.attempts))
            raise self._fail(error) from None
        made = CallAttempt(reply.model or model.name, "used", reply.usage, _measure(began))
        self._made.append((reply, reply.attempts or (made,)))
        self._reply = reply
        return reply

    def finish(self, chosen: Result) -> Reply:
        """Return the reply with the usage of all calls.

        An error gives way to an earlier reply, which was paid for; without such a reply it is raised.
        """
        if isinstance(chosen, ModelError):
            if self._reply is None:
                raise self._fail(chosen)
            chosen = self._reply
        if len(self._made) < 2:
            return chosen
        attempts = self._list_attempts(chosen)
        used = add_usage(attempt.usage for attempt in attempts)
        return replace(chosen, usage=used, attempts=attempts)

    def _fail(self, error: NaturalError) -> NaturalError:
        """Return the error with all calls that were made before it."""
        error.attempts = self._list_attempts(error)
        return error

    def _list_attempts(self, chosen: object) -> tuple[CallAttempt, ...]:
        return tuple(
            replace(attempt, outcome="unusable")
            if result is not chosen and attempt.outcome == "used"
            else attempt
            for result, attempts in self._made
            for attempt in attempts
        )

    def _check_next_call(self, used_inside: Usage) -> None:
        """Check that the run's limits allow one more call, given the usage here and inside."""
        if self._request.before_call is None:
            return
        usages = [attempt.usage for _, attempts in self._made for attempt in attempts]
        try:
            self._request.before_call(add_usage([*usages, used_inside]))
        except NaturalError as error:
            raise self._fail(error) from None


def _measure(began: float) -> float:
    return round(time.monotonic() - began, 6)
