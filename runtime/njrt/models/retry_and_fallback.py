"""Ask again, the same model or the next of several, while a condition holds.

    RetryModel(OpenAI("gpt-4.1", retries=0), attempts=5)     waits 0.5 s, 1 s, ... after errors
    RetryModel(model, when=is_failure)                       also after unusable replies, at once
    FallbackModel((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))

Give vendors' models `retries=0` inside a `RetryModel`; otherwise the waits multiply.
Not detected: a reply's effect on the program (see `FallbackModel.turns`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from njrt.errors import ConfigurationError, ModelError, NotAskedError, ServerError
from njrt.messages import Json, Reply, Request
from njrt.models.model import Model
from njrt.models.response import MalformedReplyError, parse_json
from njrt.models.wrapped import (
    Attempts,
    Calls,
    Result,
    WrappedModel,
    adapt_model,
    require_numbers,
)

Condition = Callable[[Request, Reply | ModelError], bool]
"""Returns whether another call must replace the result of a request."""


def is_server_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server could not be reached, was overloaded or too slow, or sent no reply."""
    return isinstance(result, ServerError)


def is_unusable_reply(request: Request, result: Reply | ModelError) -> bool:
    """Return whether a reply is refused, cut off or empty, calls an unknown tool, or breaks its schema."""
    if isinstance(result, ModelError):
        return False
    message = result.message
    if result.stop != "end" or not (message.calls or message.text.strip()):
        return True
    if request.schema is not None:
        return not fits_schema(
            message.calls[0].raw if message.calls else message.text, request.schema
        )
    if request.tools:
        names = {tool.name for tool in request.tools}
        known = all(call.name in names and call.arguments is not None for call in message.calls)
        return not (message.calls and known)
    return False


def is_failure(request: Request, result: Reply | ModelError) -> bool:
    """Return whether the server failed or its reply cannot be used."""
    return is_server_failure(request, result) or is_unusable_reply(request, result)


def fits_schema(text: str, schema: Json) -> bool:
    """Return whether a text is JSON that fits a schema; without jsonschema, whether it is an object."""
    try:
        value = parse_json(extract_json(text))
    except MalformedReplyError:
        return False
    try:
        from jsonschema.validators import validator_for
    except ImportError:
        return isinstance(value, dict)
    return bool(validator_for(schema)(schema).is_valid(value))


def extract_json(text: str) -> str:
    """Return the JSON in a reply: its text, or the contents of its fenced block."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.partition("\n")[2].removesuffix("```")
    return text


VARIED_TEMPERATURE = 0.5
"""The least temperature after an unusable reply: at 0 the next would be the same."""


class FallbackModel(WrappedModel):
    """The first of `models` with a result that does not meet the condition `when`.

    With `turns`, the next model takes over if a block has not ended after so many turns of the
    previous one. Each may take the request's `timeout`, all together `seconds_left`. If no model is
    left, an earlier unusable reply is returned rather than a later error.
    """

    attempts = 1
    """How often each model is asked."""

    def __init__(
        self,
        models: Sequence[Any],
        *,
        when: Condition = is_server_failure,
        turns: int | None = None,
    ) -> None:
        require_numbers("FallbackModel", {"turns": turns})
        if not models or isinstance(models, str) or (turns is not None and turns < 1):
            raise ConfigurationError("FallbackModel needs a sequence of models, and turns from 1")
        self.models: tuple[Model, ...] = tuple(map(adapt_model, models))
        self.turns = turns
        self._when = when

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self.models)

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        passed = (request.turn - 1) // self.turns if self.turns else 0
        result: Result = NotAskedError()
        for model in self.models[min(passed, len(self.models) - 1) :]:
            for number in range(self.attempts):
                if attempts.are_made and not self._when(request, result):
                    return attempts.finish(result)
                changes: dict[str, Any] = {}
                if number and isinstance(result, ModelError):
                    wait, left = self._choose_wait(result, number), attempts.seconds_left
                    if wait is None or (left is not None and wait >= left):
                        break
                    await calls.wait(wait)
                elif number and request.temperature is not None:
                    changes["temperature"] = max(request.temperature, VARIED_TEMPERATURE)
                if (again := await attempts.ask(model, **changes)) is None:
                    return attempts.finish(result)
                result = again
        return attempts.finish(result)

    def _choose_wait(self, error: ModelError, number: int) -> float | None:
        """Return the seconds to wait after failure `number`; None if that is too long."""
        return 0.0


class RetryModel(FallbackModel):
    """The model `model`, asked up to `attempts` times while the condition `when` holds.

    After a server failure it waits `first_wait` seconds, then twice as long each time up to
    `longest_wait`, reduced by up to half by `chance`; the server's `Retry-After` takes precedence. If
    the wait would exceed `longest_wait` or the time that the run has left, the failure is raised
    immediately. If all replies are unusable, the last is returned.
    """

    def __init__(
        self,
        model: Any,
        *,
        attempts: int = 3,
        when: Condition = is_server_failure,
        first_wait: float = 0.5,
        longest_wait: float = 30.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        waits = {"first_wait": first_wait, "longest_wait": longest_wait}
        require_numbers("RetryModel", {"attempts": attempts}, waits)
        if attempts < 1 or first_wait < 0 or longest_wait < 0:
            raise ConfigurationError("RetryModel needs at least 1 attempt and no negative wait")
        super().__init__([model], when=when)
        self.attempts = attempts
        self._first_wait, self._longest_wait = first_wait, longest_wait
        self._chance = chance

    def _choose_wait(self, error: ModelError, number: int) -> float | None:
        wanted: float | None = getattr(error, "retry_after", None)
        if wanted is not None:
            return max(0.0, wanted) if wanted <= self._longest_wait else None
        longest = min(self._longest_wait, self._first_wait * 2.0 ** min(number - 1, 60))
        return longest * (1 - self._chance() / 2)
