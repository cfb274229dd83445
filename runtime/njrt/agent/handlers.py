"""The handler of a block run, for its effect set or its interface.

    Run("total = sum(prices)", done=True)      ──serve──>   Completed()                  the prompt is cancelled
    Run("prices[0]", done=False)               ──serve──>   Answer("3")                  the prompt is resumed
    Run("prices = []", done=True)              ──serve──>   Refusal("`prices` is ...")   resumed, with advice

A handler is a generator that yields the code to be run (the driver runs it, awaiting it in an
`async` block) and returns the result. It never asks a model.
"""

from __future__ import annotations

from functools import partial

from njrt.agent.answer import Choices
from njrt.agent.answer_handler import AnswerHandler
from njrt.agent.block_end import BlockEnd, advise_binding
from njrt.agent.code_runner import CodeRunner, EffectGenerator
from njrt.agent.direct_handler import DirectHandler, refuse_uncontainable
from njrt.agent.interface_effects import OpenInterface
from njrt.agent.interface_handler import InterfaceHandler, advise_effect
from njrt.agent.secrets import redact_result
from njrt.block import Block
from njrt.effects import Effect, Refusal
from njrt.execution.contracts import Contract
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Scope


class Handlers:
    """Serves the effects of one block run on its scope, and redacts their results."""

    def __init__(
        self,
        block: Block,
        scope: Scope,
        contract: Contract | None = None,
        interface: OpenInterface | None = None,
    ) -> None:
        is_answer = block.options.effects == "answer"
        if block.options.policy == "contained" and not is_answer:
            refuse_uncontainable(scope)
        self.block = block
        self.scope = scope
        self.redactor = Redactor(block.options.redact is None or block.options.redact)
        advise = partial(advise_effect, interface) if interface else advise_binding
        end = BlockEnd(block, scope, self.redactor, contract, advise)
        self.runner = CodeRunner(end)
        self.handler: AnswerHandler | DirectHandler | InterfaceHandler
        if interface is not None:
            self.handler = InterfaceHandler(end, self.runner, interface)
        elif is_answer:
            self.handler = AnswerHandler(end)
        else:
            self.handler = DirectHandler(end, self.runner)

    def serve(self, effect: Effect | Refusal, turn: int) -> EffectGenerator:
        """Serve one effect, or the refusal of a request that could not be read as one."""
        result = yield from self.handler.serve(effect, turn)
        return redact_result(result, self.scope, self.redactor)

    def offer(self, choices: Choices) -> None:
        """Let the answers of the model choose these objects."""
        assert isinstance(self.handler, AnswerHandler)
        self.handler.choices = choices
