"""The handler of a block run, for its effect set or its interface.

    Run("total = sum(prices)", done=True)   ──serve──>   Completed()               the prompt ends
    Run("prices[0]", done=False)            ──serve──>   Answer("3")               it resumes
    Run("prices = []", done=True)           ──serve──>   Refusal("`prices` is…")   with advice

`serve` is a generator that yields the code to be run (the driver runs it, awaiting it in an `async`
block) and returns the result. A handler never asks a model.
"""

from __future__ import annotations

from functools import partial

from njrt.block.agent.answer_handler import AnswerHandler
from njrt.block.agent.block_end import BlockEnd, advise_binding
from njrt.block.agent.code_runner import CodeRunner
from njrt.block.agent.direct_handler import DirectHandler
from njrt.block.agent.interface_effects import OpenInterface
from njrt.block.agent.interface_handler import InterfaceHandler, advise_effect
from njrt.block.block import Block
from njrt.execution.contracts import Contract
from njrt.execution.scope.scope import Scope
from njrt.values.rendering.redaction import Redactor

Handler = AnswerHandler | DirectHandler | InterfaceHandler


def make_handler(
    block: Block,
    scope: Scope,
    redactor: Redactor,
    contract: Contract | None = None,
    interface: OpenInterface | None = None,
) -> Handler:
    """Return the handler of one block run on its scope."""
    advise = partial(advise_effect, interface) if interface else advise_binding
    end = BlockEnd(block, scope, redactor, contract, advise)
    if interface is not None:
        return InterfaceHandler(end, CodeRunner(end), interface)
    if block.options.effects == "answer":
        return AnswerHandler(end)
    return DirectHandler(end, CodeRunner(end))
