"""Several models in place of one: if a model cannot answer, the next is asked.

    FallbackModel((OpenAI("gpt-6-sol"), Anthropic("claude-sonnet-5-5")))    model="openai/…,anthropic/…"
    FallbackModel((small, large), when=is_failure, turns=2)                 also by failed outputs

By default only a failure of the server (unreachable, overloaded, too slow) leads to the next model. A wrong key or a
rejected request is raised at once: another model would hide it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from njrt.errors import ConfigurationError, LimitError
from njrt.messages import Protocol, Reply, Request
from njrt.models.adapt import adapt_model
from njrt.models.conditions import Condition, is_server_failure
from njrt.models.model import Model
from njrt.models.retry import prefer_reply
from njrt.models.wrapped import Attempts, Calls, WrappedModel, choose_protocol


class FallbackModel(WrappedModel):
    """The first of `models` whose result is not such that the condition `when` holds.

    With `turns`, each model has so many turns of a conversation: where the outputs of the first have failed that often,
    the next goes on. Each may take the request's `timeout`, all together `seconds_left`. If no model is left, an
    earlier reply that cannot be used is returned rather than a later error.
    """

    def __init__(
        self,
        models: Sequence[Any],
        *,
        when: Condition = is_server_failure,
        turns: int | None = None,
    ) -> None:
        if not models or isinstance(models, str) or (turns is not None and turns < 1):
            raise ConfigurationError("FallbackModel needs a sequence of models, and turns from 1")
        self.models: tuple[Model, ...] = tuple(map(adapt_model, models))
        self.turns = turns
        self._when = when

    @property
    def name(self) -> str:
        return ",".join(model.name for model in self.models)

    @property
    def protocol(self) -> Protocol:
        return choose_protocol(self.models)

    async def answer(self, request: Request, calls: Calls) -> Reply:
        attempts = Attempts(request, calls)
        passed = (request.turn - 1) // self.turns if self.turns else 0
        first, *others = self.models[min(passed, len(self.models) - 1) :]
        result = await attempts.ask(first)
        last_reply = result if isinstance(result, Reply) else None
        for model in others:
            if not self._when(request, result):
                break
            try:
                result = await attempts.ask(model)
            except LimitError:
                if last_reply is None:
                    raise
                break
            last_reply = result if isinstance(result, Reply) else last_reply
        return attempts.finish(prefer_reply(result, last_reply))
