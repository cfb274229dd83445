"""Ask again after a failure of the server: the same model, or the next of several.

    RetryModel(OpenAI("gpt-4.1", retries=0), attempts=5)     waits 0.5 s, 1 s, ...
    FallbackModel((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))

A failure is a `ServerError`: the server was not reached, is overloaded or too slow, or sent no
reply. A request's limits are checked before each call after the first; the reply or error lists all
calls. Give vendors' models `retries=0` inside a `RetryModel`; otherwise the waits multiply.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from njrt.data.coroutines import run_without_waiting
from njrt.errors import (
    ConfigurationError,
    ModelError,
    NaturalError,
    NotAskedError,
    ServerError,
)
from njrt.messages import CallAttempt, Protocol, Reply, Request, Usage, add_usage
from njrt.models.model import CallLister, Model
from njrt.models.wrapped import adapt_model

NOTHING = Usage(usd=0.0)

AskModel = Callable[[Model, Request], Awaitable[Reply]]
Wait = Callable[[float], Awaitable[None]]


class FallbackModel(CallLister):
    """The first of `models` whose server does not fail.

    Each may take the request's `timeout`, all together `seconds_left`.
    """

    attempts = 1
    """How often each model is asked."""
    _first_wait, _longest_wait = 0.5, 30.0

    def __init__(self, models: Sequence[Any]) -> None:
        if not models or isinstance(models, str):
            raise ConfigurationError("FallbackModel needs a sequence of models")
        self.models: tuple[Model, ...] = tuple(map(adapt_model, models))

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self.models)

    @property
    def protocol(self) -> Protocol:
        """Text if a model prefers it: those that prefer tools can also answer in text."""
        return "text" if any(model.protocol == "text" for model in self.models) else "tools"

    def ask(self, request: Request) -> Reply:
        async def ask_model(model: Model, request: Request) -> Reply:
            return model.ask(request)

        async def wait(seconds: float) -> None:
            time.sleep(seconds)

        return run_without_waiting(self.answer(request, ask_model, wait))

    async def aask(self, request: Request) -> Reply:
        import asyncio  # a program without an event loop does not load it

        async def ask_model(model: Model, request: Request) -> Reply:
            return await model.aask(request)

        return await self.answer(request, ask_model, asyncio.sleep)

    async def answer(self, request: Request, ask: AskModel, wait: Wait) -> Reply:
        """Answer `request`, awaiting only `ask` and `wait`, which block a thread or not."""
        attempts = Attempts(request, ask)
        error: ModelError = NotAskedError()
        for model in self.models:
            for number in range(self.attempts):
                if number:
                    seconds, left = self._choose_wait(error, number), attempts.seconds_left
                    if seconds is None or (left is not None and seconds >= left):
                        break
                    await wait(seconds)
                result = await attempts.ask(model)
                if isinstance(result, Reply):
                    return attempts.finish(result)
                error = result
                if not isinstance(error, ServerError):
                    raise attempts.fail(error)
        raise attempts.fail(error)

    def _choose_wait(self, error: ModelError, number: int) -> float | None:
        """Return the seconds to wait after failure `number`; None if that is too long."""
        wanted: float | None = getattr(error, "retry_after", None)
        if wanted is not None:
            return max(0.0, wanted) if wanted <= self._longest_wait else None
        longest = min(self._longest_wait, self._first_wait * 2.0 ** min(number - 1, 60))
        return longest * random.uniform(0.5, 1)


class RetryModel(FallbackModel):
    """The model `model`, asked up to `attempts` times while its server fails.

    After a failure it waits as long as the server wants, else `first_wait` seconds, then
    twice as long each time up to `longest_wait`, reduced by up to half by chance. If the wait would
    exceed `longest_wait` or the time that the run has left, the failure is raised immediately.
    """

    def __init__(
        self,
        model: Any,
        *,
        attempts: int = 3,
        first_wait: float = 0.5,
        longest_wait: float = 30.0,
    ) -> None:
        waits = (first_wait, longest_wait)
        if not all(isinstance(wait, int | float) and wait >= 0 for wait in waits) or (
            type(attempts) is not int or attempts < 1
        ):
            raise ConfigurationError("RetryModel needs at least 1 attempt and no negative wait")
        super().__init__([model])
        self.attempts = attempts
        self._first_wait, self._longest_wait = waits


class Attempts:
    """The calls that a wrapper makes for one request (state: those made so far)."""

    def __init__(self, request: Request, ask: AskModel) -> None:
        self.made: list[CallAttempt] = []
        self._request, self._ask = request, ask
        self._began = time.monotonic()

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for the request; None for no limit."""
        left = self._request.seconds_left
        return None if left is None else left - (time.monotonic() - self._began)

    async def ask(self, model: Model) -> Reply | ModelError:
        """Ask a model; a `ModelError` is returned, not raised.

        Raises LimitError if the run may make no further call. If no time is left, no model is
        asked.
        """
        left, changes = self.seconds_left, dict[str, Any]()
        if left is not None:
            if left <= 0:
                return NotAskedError("no time is left to ask another model")
            changes = {"timeout": min(self._request.timeout, left), "seconds_left": left}
        if self.made:
            self._check_next_call(NOTHING)
        began = time.monotonic()
        request = replace(self._request, before_call=self._check_next_call, **changes)
        try:
            reply = await self._ask(model, request)
        except ModelError as error:
            # With any other model, the error may be one that was raised before.
            inner = error.attempts if isinstance(model, CallLister) else ()
            if inner or not isinstance(error, NotAskedError):
                made = CallAttempt(model.name, type(error).__name__, NOTHING, _measure(began))
                self.made += inner or (made,)
            return error
        except NaturalError as error:
            self.made += error.attempts
            raise self.fail(error) from None
        made = CallAttempt(reply.model or model.name, "used", reply.usage, _measure(began))
        self.made += reply.attempts or (made,)
        return reply

    def finish(self, reply: Reply) -> Reply:
        """Return the reply with all calls and their usage, if there were several."""
        if len(self.made) < 2:
            return reply
        used = add_usage(attempt.usage for attempt in self.made)
        return replace(reply, usage=used, attempts=tuple(self.made))

    def fail(self, error: NaturalError) -> NaturalError:
        """Return the error with all calls that were made before it."""
        error.attempts = tuple(self.made)
        return error

    def _check_next_call(self, used_inside: Usage) -> None:
        """Check that the run's limits allow one more call, given the usage here and inside."""
        if self._request.before_call is None:
            return
        try:
            self._request.before_call(
                add_usage([*(attempt.usage for attempt in self.made), used_inside])
            )
        except NaturalError as error:
            raise self.fail(error) from None


def _measure(began: float) -> float:
    return round(time.monotonic() - began, 6)
