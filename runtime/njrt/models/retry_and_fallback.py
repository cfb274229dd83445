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

    Each may take the request's `timeout`, all together the time that the run has left.
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
        for model in self.models:
            for number in range(self.attempts):
                if (error := attempts.error) is not None:
                    left = attempts.check_next(NOTHING)
                    seconds = self._choose_wait(error, number)
                    if seconds > self._longest_wait or (left is not None and seconds >= left):
                        break
                    if number:
                        await wait(seconds)
                    if left is not None:
                        request = replace(request, timeout=min(request.timeout, left - seconds))
                result = await attempts.ask(model, request)
                if isinstance(result, Reply):
                    return attempts.finish(result)
                if not isinstance(result, ServerError):
                    raise attempts.fail(result)
        assert attempts.error is not None
        raise attempts.fail(attempts.error)

    def _choose_wait(self, error: ModelError, number: int) -> float:
        """Return the seconds to wait after failure `number` of a model."""
        if not number:
            return 0.0
        wanted: float | None = getattr(error, "retry_after", None)
        if wanted is not None:
            return max(0.0, wanted)
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
        self.error: ModelError | None = None
        self._before_call, self._ask = request.before_call, ask

    async def ask(self, model: Model, request: Request) -> Reply | ModelError:
        """Ask a model; a `ModelError` is returned, not raised."""
        began = time.monotonic()
        try:
            reply = await self._ask(model, replace(request, before_call=self.check_next))
        except ModelError as error:
            # With any other model, the error may be one that was raised before.
            inner = error.attempts if isinstance(model, CallLister) else ()
            made = CallAttempt(model.name, type(error).__name__, NOTHING, _measure(began))
            self.made += inner or (made,)
            self.error = error
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

    def check_next(self, used_inside: Usage) -> float | None:
        """Check that the limits allow one more call, given the usage here and inside.

        Returns the seconds that the run has left, or None.
        """
        if self._before_call is None:
            return None
        try:
            return self._before_call(
                add_usage([*(attempt.usage for attempt in self.made), used_inside])
            )
        except NaturalError as error:
            raise self.fail(error) from self.error


def _measure(began: float) -> float:
    return round(time.monotonic() - began, 6)
