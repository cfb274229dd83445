"""Predict an effect before it is performed, and compare the prediction afterwards.

    instruction, variables, effect  ->  Request  ->  "total = 7\nEND: goes on"  ->  Prediction(mismatches=(...))

Values are compared as Python literals, else as text, in their bounded form. Not detected: values that this form cuts
off or shows without a literal (`<generator>`), variables that neither prompt nor block name, and printed text.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress

from njrt.agent.conversation import PredictionRequest
from njrt.block import Block
from njrt.effect_json import effect_to_json
from njrt.effects import Effect, EffectResult, NeedsCode, Refusal, Run
from njrt.errors import NaturalError
from njrt.events import Prediction
from njrt.message_json import format_json_line
from njrt.messages import Reply, Request, UserMessage
from njrt.models.model import Model
from njrt.outcome import Broke, Continued, Raised, Returned
from njrt.records import record, replace
from njrt.rendering.one_line import write_brief
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Scope
from njrt.session.states import write_named_value

SYSTEM_PROMPT = """\
You predict what one step of a program does to its variables. You are shown an instruction, the variables before the \
step, and the step. Say what the variables are after the step if it does what the instruction asks. Reply with one \
line `NAME = VALUE`, in Python, for each variable that is new or different, and with a last line: `END: goes on`, \
`END: break`, `END: continue`, `END: return VALUE` or `END: raise NAME`. Reply with nothing else."""

MAX_VALUE_CHARS = 300
MAX_REPLY_TOKENS = 512
MAX_REPLY_CHARS = 20_000
GOES_ON = "goes on"
_CHANGE = re.compile(r"([^\W\d]\w*)\s*=\s*(.+)")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_ENDING = re.compile(r"END:\s*(.+)")


@record
class OpenPrediction:
    """A prediction that has not yet been compared; `before` are the variables before the effect."""

    prediction: Prediction
    before: Mapping[str, str]


class EffectPredictor:
    """Predicts the effects of one block run (state: the secrets seen so far)."""

    def __init__(self, model: Model, block: Block, scope: Scope) -> None:
        self._model, self._block, self._scope = model, block, scope
        rule = block.options.redact
        self._redactor = Redactor(True if rule is None else rule)

    def predict(self, effect: Effect) -> Generator[PredictionRequest, Reply, OpenPrediction]:
        """Ask the model; errors, even in a model's own code, are problems of the prediction, never of the block."""
        try:
            before = self._render_variables()
            request = self._make_request(effect, before)
            began = time.monotonic()
            reply = yield PredictionRequest(self._model, request)
            prediction = replace(
                read_prediction(reply.message.text),
                input_tokens=reply.usage.input,
                output_tokens=reply.usage.output,
                seconds=time.monotonic() - began,
            )
        except Exception as error:
            return OpenPrediction(Prediction(problem=f"no prediction: {_describe(error)}"), {})
        return OpenPrediction(prediction, before)

    def compare(self, opened: OpenPrediction, result: EffectResult) -> Prediction:
        prediction = opened.prediction
        if prediction.problem:
            return prediction
        if isinstance(result, Refusal | NeedsCode):
            return replace(prediction, problem="the effect was refused")
        try:
            mismatches = [
                *find_mismatches(prediction.expected, opened.before, self._render_variables()),
                *find_ending_mismatch(prediction.ending, self._describe_ending(result)),
            ]
        except Exception as error:
            return replace(prediction, problem=f"not compared: {_describe(error)}")
        return replace(prediction, mismatches=tuple(mismatches))

    def _render_variables(self) -> dict[str, str]:
        variables = self._scope.list_variables()
        self._redactor.scan(variables.items())
        return {
            name: write_named_value(self._redactor, name, value, MAX_VALUE_CHARS)
            for name, value in variables.items()
            if not callable(value)
        }

    def _describe_ending(self, result: EffectResult) -> str:
        word = name_effect_ending(result)
        if isinstance(result, Returned):
            return f"{word} {write_named_value(self._redactor, '', result.value, MAX_VALUE_CHARS)}"
        return f"{word} {type(result.exception).__name__}" if isinstance(result, Raised) else word

    def _make_request(self, effect: Effect, before: Mapping[str, str]) -> Request:
        variables = "\n".join(f"{name} = {text}" for name, text in before.items()) or "(none)"
        step = effect.code if isinstance(effect, Run) else format_json_line(effect_to_json(effect))
        text = (
            f"Instruction:\n\n{self._redactor.redact_whole(self._block.instruction)}\n\n"
            f"Variables before the step:\n\n{variables}\n\nStep:\n\n{self._redactor.redact_whole(step)}"
        )
        options = self._block.options
        return Request(
            SYSTEM_PROMPT,
            (UserMessage(text),),
            temperature=0.0 if self._model.protocol == "text" else None,
            max_reply_tokens=MAX_REPLY_TOKENS,
            timeout=options.max_call_seconds or 120.0,
            place=self._block.place,
        )


def name_effect_ending(result: EffectResult) -> str:
    """Return an effect's jump, or `GOES_ON`."""
    words = {Broke: "break", Continued: "continue", Returned: "return", Raised: "raise"}
    return words.get(type(result), GOES_ON)


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, NaturalError) else write_brief(error, MAX_VALUE_CHARS)


def read_prediction(text: str) -> Prediction:
    """Return the prediction in a reply, ignoring other lines and the end of a long reply."""
    expected: dict[str, str] = {}
    ending = ""
    for line in text[:MAX_REPLY_CHARS].splitlines():
        line = line.strip().strip("`").strip()
        if found := _ENDING.match(line):
            ending = found[1]
        elif found := _CHANGE.match(line):
            expected[found[1]] = found[2]
    if not expected and not ending:
        return Prediction(problem="the reply has no prediction")
    return Prediction(expected, ending)


def find_mismatches(
    expected: Mapping[str, str], before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    """Yield a text for each variable that is not as predicted; predictions for unknown names are ignored."""
    for name, text in after.items():
        predicted = expected.get(name, before.get(name))
        if text.startswith("<"):  # an object without a text form
            continue
        if predicted is None:
            yield f"{name} = {text}, not predicted"
        elif not is_same_text(text, predicted):
            yield f"{name} = {text}, predicted {predicted}"
    for name in before.keys() - after.keys():
        yield f"{name} is not bound any more"


def find_ending_mismatch(predicted: str, actual: str) -> Iterator[str]:
    """Yield a text if the step ended differently from the prediction."""
    word, _, value = (predicted or GOES_ON).partition(" ")
    actual_word, _, actual_value = actual.partition(" ")
    is_same = word == actual_word and (
        word != "return" or is_same_text(actual_value, value or "None")
    )
    if not is_same:
        yield f"it ended by `{actual}`, predicted `{predicted or GOES_ON}`"


def is_same_text(actual: str, predicted: str) -> bool:
    """Return whether two written values are equal; a value that is cut off cannot be compared and counts as equal."""
    if "..." in _STRING.sub("''", actual) or actual == predicted:
        return True
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found, wanted = ast.literal_eval(actual), ast.literal_eval(predicted)
        return bool(found == wanted and isinstance(found, bool) == isinstance(wanted, bool))
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ast.dump(ast.parse(actual, mode="eval")) == ast.dump(
            ast.parse(predicted.strip(), mode="eval")
        )
    return actual.split() == predicted.split()
