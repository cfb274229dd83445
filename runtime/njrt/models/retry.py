"""Asking a model again.

    RetryModel(OpenAI("gpt-4.1", retries=0), attempts=5)
    RetryModel(model, when=is_failure)                      also replies that cannot be used

    ServerError, wait 0.5 s, ServerError, wait 1 s, Reply
    Reply that cannot be used, Reply                        no wait, and a temperature above 0

Vendors' models of this package retry by themselves what their SDKs retry (`retries=3`): give them `retries=0` inside
a `RetryModel`, or the waits multiply.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from njrt.errors import ConfigurationError, LimitError, ModelError
from njrt.messages import Reply, Request
from njrt.models.adapt import adapt_model
from njrt.models.conditions import Condition, is_server_failure
from njrt.models.model import ModelAround
from njrt.models.wrapped import Attempts, Calls, Result, WrappedModel

VARIED_TEMPERATURE = 0.5
"""The least temperature of a request whose last reply could not be used: at 0 it would be the same again."""


class RetryModel(ModelAround, WrappedModel):
    """`model`, asked up to `attempts` times while the condition `when` holds.

    After a failure of the server it waits `first_wait` seconds, then twice as long each time up to `longest_wait`, of
    which `chance` takes up to half away; what the server wants in `Retry-After` comes first. A longer wait than
    `longest_wait`, or than the run has left, is not begun: the failure is raised. Of replies that cannot be used the
    last is returned.
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
        if attempts < 1 or first_wait < 0 or longest_wait < 0:
            raise ConfigurationError("RetryModel needs at least 1 attempt and no negative wait")
        self.model = adapt_model(model)
        self.attempts = attempts
        self._when = when
        self._first_wait = first_wait
        self._longest_wait = longest_wait
        self._chance = chance

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        result = await attempts.ask(self.model)
        last_reply = result if isinstance(result, Reply) else None
        for number in range(1, self.attempts):
            if not self._when(request, result):
                break
            changes: dict[str, Any] = {}
            if isinstance(result, ModelError):
                wait = self._choose_wait(result, number)
                left = attempts.seconds_left
                if wait is None or (left is not None and wait >= left):
                    break
                await calls.wait(wait)
            elif request.temperature is not None:
                changes["temperature"] = max(request.temperature, VARIED_TEMPERATURE)
            try:
                result = await attempts.ask(self.model, **changes)
            except LimitError:
                if last_reply is None:
                    raise
                break
            last_reply = result if isinstance(result, Reply) else last_reply
        return attempts.finish(prefer_reply(result, last_reply))

    def _choose_wait(self, error: ModelError, number: int) -> float | None:
        """Return the seconds to wait after failure `number`; None if the server wants too long a wait."""
        wanted: float | None = getattr(error, "retry_after", None)
        if wanted is not None:
            return max(0.0, wanted) if wanted <= self._longest_wait else None
        longest = min(self._longest_wait, self._first_wait * 2.0 ** (number - 1))
        return longest * (1 - self._chance() / 2)


def prefer_reply(result: Result, reply: Reply | None) -> Result:
    """The result, or an earlier reply where it is an error: a reply was paid for, and the conversation may go on."""
    return reply if isinstance(result, ModelError) and reply is not None else result
