"""Several models in place of one: who cannot answer passes the request on.

    Fallback((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))       model="openai/…,anthropic/…"

Only the server's failures are passed on (down, too busy, too slow). A wrong key or a rejected request is
the program's to repair, and another model would only hide it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from njrt.errors import ServerError
from njrt.messages import Protocol, Reply, Request
from njrt.models.model import Model


@dataclass(frozen=True, slots=True)
class FallbackModel:
    """The first of `models` that answers; each has the request's whole `timeout` for itself."""

    models: tuple[Model, ...]

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self.models)

    @property
    def protocol(self) -> Protocol:
        """Text if any of the models prefers it: those that prefer tools can do without."""
        return "text" if any(model.protocol == "text" for model in self.models) else "tools"

    def ask(self, request: Request) -> Reply:
        *earlier, last = self.models
        for model in earlier:
            with suppress(ServerError):
                return model.ask(request)
        return last.ask(request)

    async def aask(self, request: Request) -> Reply:
        *earlier, last = self.models
        for model in earlier:
            with suppress(ServerError):
                return await model.aask(request)
        return await last.aask(request)
