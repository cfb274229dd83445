"""The handler of the effect set `answer`: JSON values for the outputs, and no code.

BindOutputs({"mood": "calm"})              Completed()
BindOutputs({"mood": 3})                   Refusal("`mood`: expected str, got 3. Reply again ...")
RaiseNamed("ValueError", "no mood")        Raised(ValueError("no mood"))
NeedsCode("it must count")                 the same: the run continues as `direct`
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from unicodedata import normalize

from njrt.block.agent.answer import find_exception, find_name_problem
from njrt.block.agent.answer_prompt import AnswerPrompt
from njrt.block.agent.block_end import BlockEnd
from njrt.block.agent.calls import call_in_time, limit_time
from njrt.block.agent.code_runner import EffectGenerator
from njrt.data.outcome import Outcome, Returned, UserValue
from njrt.effects import (
    BindOutputs,
    BreakLoop,
    ContinueLoop,
    Effect,
    EffectResult,
    NeedsCode,
    RaiseNamed,
    Refusal,
    ReturnAnswer,
    WireValue,
)
from njrt.errors import NaturalError, PolicyError


class AnswerHandler:
    """Takes the answers of a model (state: the prompt that they answer)."""

    prompt: AnswerPrompt

    def __init__(self, end: BlockEnd) -> None:
        self.end = end

    def serve(self, effect: Effect | Refusal) -> EffectGenerator:
        """Serve one effect, or the refusal of a request that could not be read as one.

        Validators, properties and exceptions of the program have the time limit of code.

        Raises PolicyError if the model asks for code that the block must not have.
        """
        yield from ()  # no code is run
        seconds = self.end.block.options.max_code_seconds
        match effect:
            case BindOutputs(values):
                return limit_time(seconds, partial(self.bind_outputs, values))
            case ReturnAnswer(value):
                return call_in_time(seconds, partial(self.return_answer, value))
            case RaiseNamed(name, message):
                return call_in_time(seconds, partial(self.raise_named, name, message))
            case BreakLoop():
                return self.end.jump("break")
            case ContinueLoop():
                return self.end.jump("continue")
            case NeedsCode(reason) if self.end.block.options.authority == "strict":
                raise PolicyError(
                    f'the block needs code, which authority="strict" does not allow: {reason}'
                )
            case NeedsCode() | Refusal():
                return effect
        raise AssertionError(f"{type(effect).__name__} is not an effect of `answer`")

    def bind_outputs(self, values: Mapping[str, WireValue]) -> EffectResult:
        """Bind all outputs to JSON values, or none of them, and end the block."""
        forms, objects = self.prompt.form.outputs, self.prompt.objects
        values = {normalize("NFKC", name): value for name, value in values.items()}
        if problem := find_name_problem(values, forms):
            return self.refuse_form(problem)
        decoded: dict[str, UserValue] = {}
        for name, value in values.items():
            try:
                decoded[name] = forms[name].decode(value, objects)
            except NaturalError:
                raise
            except Exception as error:  # including one from the program's validators
                return self.refuse_form(f"`{name}`: {error}")
        return self.end.bind(decoded)

    def return_answer(self, value: WireValue) -> EffectResult:
        """Return from the program's function with a JSON value."""
        form = self.prompt.form.returned
        if form is None:
            return self.end.jump("return", value)
        try:
            # Not checked again: a validator may refuse its own result.
            return Returned(form.decode(value, self.prompt.objects))
        except ValueError as error:
            return self.refuse_form(f"the value to return: {error}")

    def raise_named(self, name: str, message: str) -> Outcome | Refusal:
        """Raise an exception that the block may name."""
        kind = find_exception(self.end.scope, name)
        if kind is None:
            return Refusal(f"there is no exception `{name}` here; ValueError is one")
        try:
            return self.end.jump("raise", make_exception(kind, message))
        except TypeError as failure:
            way = ', or {"needs_code": "why"}' * self.prompt.form.may_need_code
            return Refusal(
                f"`{name}` is not made of a message alone ({failure}); raise another exception{way}"
            )

    def refuse_form(self, problem: str) -> Refusal:
        """Refuse a reply that does not have the required form; fail if it happens too often."""
        wrong = f"the model's reply does not have the form: {problem}"
        return self.end.refuse_misfit(wrong, f"{problem}. Reply again, with the whole JSON object.")


def make_exception(kind: type[BaseException], message: str) -> BaseException:
    """Return an exception with a message, or without one if its class takes none.

    Raises the errors of the class.
    """
    try:
        return kind(message) if message else kind()
    except TypeError as first:
        try:
            return kind() if message else kind("")
        except TypeError:
            raise first from None
