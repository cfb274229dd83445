"""Ask again, the same model or the next of several, while a condition holds.

    RetryModel(OpenAI("gpt-4.1", retries=0), attempts=5)     waits 0.5 s, 1 s, ... after errors
    RetryModel(model, when=is_failure)                       also after unusable replies, at once
    FallbackModel((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))

A request's limits are checked before each call after the first; the reply or error lists all calls.
Give vendors' models `retries=0` inside a `RetryModel`; otherwise the waits multiply.
Not detected: a reply's effect on the program (see `FallbackModel.turns`).
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
    LimitError,
    ModelError,
    NaturalError,
    NotAskedError,
    ServerError,
)
from njrt.messages import CallAttempt, Json, Protocol, Reply, Request, Usage, add_usage
from njrt.models.model import CallLister, LayeredModel, Model
from njrt.models.response import MalformedReplyError, parse_json
from njrt.models.wrapped import adapt_model

Result = Reply | ModelError
"""The result of a call."""

NOTHING = Usage(usd=0.0)

AskModel = Callable[[Model, Request], Awaitable[Reply]]
Wait = Callable[[float], Awaitable[None]]

Condition = Callable[[Request, Reply | ModelError], bool]
"""Returns whether another call must replace the result of a request."""


def is_server_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server was not reached, overloaded or too slow, or sent no reply."""
    return isinstance(result, ServerError)


def is_unusable_reply(request: Request, result: Reply | ModelError) -> bool:
    """Return whether a reply is refused, cut off, empty, or not of the form asked for."""
    if isinstance(result, ModelError):
        return False
    message = result.message
    if result.stop != "end" or not (message.calls or message.text.strip()):
        return True
    if request.schema is not None:
        text = message.calls[0].raw if message.calls else message.text
        return not fits_schema(text, request.schema)
    names = {tool.name for tool in request.tools}
    is_known = all(call.name in names and call.arguments is not None for call in message.calls)
    return bool(names) and not (message.calls and is_known)


def is_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server failed or its reply cannot be used."""
    return is_server_failure(request, result) or is_unusable_reply(request, result)


def fits_schema(text: str, schema: Json) -> bool:
    """Return whether a text, perhaps a fenced block, is JSON that fits a schema.

    Without jsonschema, any object does.
    """
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    try:
        value = parse_json(text)
        from jsonschema.validators import validator_for
    except MalformedReplyError:
        return False
    except ImportError:
        return isinstance(value, dict)
    return bool(validator_for(schema)(schema).is_valid(value))


VARIED_TEMPERATURE = 0.5
"""The least temperature after an unusable reply: at 0 the next would be the same."""


class FallbackModel(CallLister):
    """The first of `models` with a result that does not meet the condition `when`.

    With `turns`, the next model takes over if a block has not ended after so many turns of the
    previous one. Each may take the request's `timeout`, all together `seconds_left`. If no model is
    left, an earlier unusable reply is returned rather than a later error.
    """

    attempts = 1
    """How often each model is asked."""
    _first_wait, _longest_wait = 0.5, 30.0

    def __init__(
        self,
        models: Sequence[Any],
        *,
        when: Condition = is_server_failure,
        turns: int | None = None,
    ) -> None:
        has_turns = turns is None or (type(turns) is int and turns > 0)
        if not models or isinstance(models, str) or not has_turns:
            raise ConfigurationError("FallbackModel needs a sequence of models, and turns from 1")
        self.models: tuple[Model, ...] = tuple(map(adapt_model, models))
        self.turns = turns
        self._when = when

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
        passed = (request.turn - 1) // self.turns if self.turns else 0
        result: Result = NotAskedError()
        for model in self.models[min(passed, len(self.models) - 1) :]:
            for number in range(self.attempts):
                if attempts.made and not self._when(request, result):
                    return attempts.finish(result)
                changes: dict[str, Any] = {}
                if number and isinstance(result, ModelError):
                    seconds, left = self._choose_wait(result, number), attempts.seconds_left
                    if seconds is None or (left is not None and seconds >= left):
                        break
                    await wait(seconds)
                elif number and request.temperature is not None:
                    changes["temperature"] = max(request.temperature, VARIED_TEMPERATURE)
                if (again := await attempts.ask(model, **changes)) is None:
                    return attempts.finish(result)
                result = again
        return attempts.finish(result)

    def _choose_wait(self, error: ModelError, number: int) -> float | None:
        """Return the seconds to wait after failure `number`; None if that is too long."""
        wanted: float | None = getattr(error, "retry_after", None)
        if wanted is not None:
            return max(0.0, wanted) if wanted <= self._longest_wait else None
        longest = min(self._longest_wait, self._first_wait * 2.0 ** min(number - 1, 60))
        return longest * random.uniform(0.5, 1)


class RetryModel(FallbackModel):
    """The model `model`, asked up to `attempts` times while the condition `when` holds.

    After a server failure it waits as long as the server wants, else `first_wait` seconds, then
    twice as long each time up to `longest_wait`, reduced by up to half by chance. If the wait would
    exceed `longest_wait` or the time that the run has left, the failure is raised immediately. If
    all replies are unusable, the last is returned.
    """

    def __init__(
        self,
        model: Any,
        *,
        attempts: int = 3,
        when: Condition = is_server_failure,
        first_wait: float = 0.5,
        longest_wait: float = 30.0,
    ) -> None:
        waits = (first_wait, longest_wait)
        if not all(isinstance(wait, int | float) and wait >= 0 for wait in waits) or (
            type(attempts) is not int or attempts < 1
        ):
            raise ConfigurationError("RetryModel needs at least 1 attempt and no negative wait")
        super().__init__([model], when=when)
        self.attempts = attempts
        self._first_wait, self._longest_wait = waits


class Attempts:
    """The calls that a wrapper makes for one request (state: those made so far)."""

    def __init__(self, request: Request, ask: AskModel) -> None:
        self.made: list[tuple[Reply | NaturalError, tuple[CallAttempt, ...]]] = []
        self._request, self._ask = request, ask
        self._began = time.monotonic()
        self._reply: Reply | None = None

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for the request; None for no limit."""
        left = self._request.seconds_left
        return None if left is None else left - (time.monotonic() - self._began)

    async def ask(self, model: Model, **changes: Any) -> Result | None:
        """Ask a model, with `changes` to the request; a `ModelError` is returned, not raised.

        If the run may make no further call, the result is None after a reply, else a `LimitError`
        is raised. If no time is left, no model is asked.
        """
        left = self.seconds_left
        if left is not None:
            if left <= 0:
                return NotAskedError("no time is left to ask another model")
            changes |= {"timeout": min(self._request.timeout, left), "seconds_left": left}
        if self.made:
            try:
                self._check_next_call(NOTHING)
            except LimitError:
                if self._reply is None:
                    raise
                return None
        began = time.monotonic()
        request = replace(self._request, before_call=self._check_next_call, **changes)
        asked = model
        if request.call_layer is not None and not isinstance(model, FallbackModel):
            asked = LayeredModel(model, (request.call_layer(model),))
        try:
            reply = await self._ask(asked, request)
        except ModelError as error:
            # With any other model, the error may be one that was raised before.
            inner = error.attempts if isinstance(model, CallLister) else ()
            if inner or not isinstance(error, NotAskedError):
                made = CallAttempt(model.name, type(error).__name__, NOTHING, _measure(began))
                self.made.append((error, inner or (made,)))
            return error
        except NaturalError as error:
            self.made.append((error, error.attempts))
            raise self._fail(error) from None
        made = CallAttempt(reply.model or model.name, "used", reply.usage, _measure(began))
        self.made.append((reply, reply.attempts or (made,)))
        self._reply = reply
        return reply

    def finish(self, chosen: Result) -> Reply:
        """Return the reply with the usage of all calls.

        An error gives way to an earlier reply, which was paid for; without one it is raised.
        """
        if isinstance(chosen, ModelError):
            if self._reply is None:
                raise self._fail(chosen)
            chosen = self._reply
        if len(self.made) < 2:
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
            for result, attempts in self.made
            for attempt in attempts
        )

    def _check_next_call(self, used_inside: Usage) -> None:
        """Check that the run's limits allow one more call, given the usage here and inside."""
        if self._request.before_call is None:
            return
        usages = [attempt.usage for _, attempts in self.made for attempt in attempts]
        try:
            self._request.before_call(add_usage([*usages, used_inside]))
        except NaturalError as error:
            raise self._fail(error) from None


def _measure(began: float) -> float:
    return round(time.monotonic() - began, 6)
