"""Several models in place of one: if a model cannot answer, the next is asked.

    FallbackModel((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))    model="openai/…,anthropic/…"

Only a failure of the server (unreachable, overloaded, too slow) leads to the next model. A wrong key or a rejected
request is raised at once: another model would hide it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from njrt.errors import ServerError
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Model, run_without_waiting


@dataclass(frozen=True, slots=True)
class FallbackModel:
    """The first of `models` that answers.

    Each may take the request's `timeout`, all together `seconds_left`.
    """

    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self.models)

    @property
    def protocol(self) -> Protocol:
        """Text if any of the models prefers it: models that prefer tools can also answer in text."""
        return "text" if any(model.protocol == "text" for model in self.models) else "tools"

    def ask(self, request: Request) -> Reply:
        async def ask_model(model: Model, request: Request) -> Reply:
            return model.ask(request)

        return run_without_waiting(self._ask_in_turn(request, ask_model))

    async def aask(self, request: Request) -> Reply:
        return await self._ask_in_turn(request, lambda model, request: model.aask(request))

    async def _ask_in_turn(
        self, request: Request, ask: Callable[[Model, Request], Awaitable[Reply]]
    ) -> Reply:
        began = time.monotonic()
        *earlier, last = self.models
        for model in earlier:
            with suppress(ServerError):
                return await ask(model, _limit_timeout(request, began))
        return await ask(last, _limit_timeout(request, began))


def _limit_timeout(request: Request, began: float) -> Request:
    """The request with a timeout of at most the seconds that are left since `began`."""
    if request.seconds_left is None:
        return request
    left = request.seconds_left - (time.monotonic() - began)
    if left <= 0:
        raise ServerError("no time is left to ask another model")
    return replace(request, timeout=min(request.timeout, left))
