"""The handler of the effect set `direct`: Python code on the variables of the block.

Run("total = sum(prices)", done=True)      Completed()
Run("prices[0]", done=False)               Answer("3")
Run("prices = []", done=True)              Refusal("line 1: `prices` is read-only ...")
the same again                             Refusal("again: line 1 ...\\nWrite all of it anew, ...")
"""

from __future__ import annotations

import re
from functools import partial

from njrt.block.agent.block_end import BlockEnd
from njrt.block.agent.code_runner import CodeRunner, EffectGenerator, refuse_end
from njrt.effects import Answer, Effect, EffectResult, Refusal, Run
from njrt.execution.scope.advice import format_skeleton
from njrt.execution.scope.scope import Scope
from njrt.values.rendering.shown_classes import find_shown_classes, find_signature_classes

_LINE_PREFIX = re.compile(r"^line \d+: ")


class DirectHandler:
    """Runs code for a model (state: whether the last effect was refused, refusals by reason)."""

    def __init__(self, end: BlockEnd, runner: CodeRunner) -> None:
        self.end = end
        self.runner = runner
        self.failed = False
        self.refusals: dict[str, int] = {}
        block, scope = end.block, end.scope
        scope.watch_outputs(block.reads)
        scope.find_shown_classes = partial(list_shown_classes, scope)

    def serve(self, effect: Effect | Refusal) -> EffectGenerator:
        """Serve one effect, or the refusal of a request that could not be read as one."""
        match effect:
            case Run(code, done):
                result = yield from self.run(code, done)
            case Refusal():
                result = effect
            case _:
                raise AssertionError(f"{type(effect).__name__} is not an effect of `direct`")
        self.failed = isinstance(result, Refusal)
        return result

    def run(self, code: str, done: bool) -> EffectGenerator:
        """Run code; with `done` the block ends once it has run and its outputs are bound."""
        if done and self.failed and not code.strip():
            return Refusal(
                "the last code failed, so this is not done; send code that does what is left"
            )
        result: EffectResult = yield from self.runner.execute(code, silent="(ran; no value)")
        if done and isinstance(result, Answer):
            match self.end.conclude():
                case Refusal(restart=requirement) as refusal:
                    return self.vary_refusal(refuse_end(refusal), has_run=bool(requirement))
                case outcome:
                    return outcome
        return self.vary_refusal(result) if isinstance(result, Refusal) else result

    def vary_refusal(self, refusal: Refusal, has_run: bool = False) -> Refusal:
        """Add a code skeleton to a refusal the second time, and shorten the refusal from then on.

        There is no skeleton if the code `has_run` and broke the contract: it must not run again.
        """
        reason = _LINE_PREFIX.sub("", refusal.message.partition("\n")[0])
        times = self.refusals[reason] = self.refusals.get(reason, 0) + 1
        if times == 1:
            return refusal
        if times == 2:
            scope = self.end.scope
            skeleton = format_skeleton(scope.outputs, scope.list_variables(), scope.types)
            form = (
                f"\nWrite all of it anew, in this form:\n{skeleton}"
                if skeleton and not has_run
                else ""
            )
            return Refusal(f"again: {refusal.message}{form}", times=times)
        advice = "Do without it: write other, simpler code"
        if has_run:
            advice = "Write only code that makes it true, starting from the present values"
        return Refusal(f"refused {times} times: {reason}\n{advice}", times=times)


def list_shown_classes(scope: Scope) -> list[type]:
    """Return the classes that the model is shown with a block's values, types and functions."""
    shown = find_shown_classes(scope.list_visible().values(), scope.types.values())
    return shown + find_signature_classes(scope.list_used_functions())
