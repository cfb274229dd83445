"""The effects that a prompt may request, and the results that a handler may give.

    Run("x + 1", done=False)      Answer("4"), or Refusal("`x` is not visible ...")
    BindOutputs({"y": 2})         Completed(), or Refusal("`y`: expected str, got 2 ...")

An effect is a request from the prompt to the program around it. A handler serves it and either
*resumes* the prompt, with an `Answer` or with a `Refusal` that names an alternative, or *cancels*
it, with the block's `Outcome` (Plotkin and Pretnar's effects and handlers, as in section 4 of the
Nightjar paper).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from njrt.data.outcome import Outcome
from njrt.data.records import record

WireValue = Any
"""A value in a model's JSON: scalars, lists, objects, references as `{"type": "Ref", ...}`."""


@record
class Run:
    """Run `code` in the block's scope; with `done`, end the block once it has run without error."""

    code: str
    done: bool


@record
class BreakLoop:
    """Break out of the enclosing loop."""


@record
class ContinueLoop:
    """Continue with the next iteration of the enclosing loop."""


@record
class BindOutputs:
    """Bind the block's outputs to JSON values, by name, and end the block."""

    values: Mapping[str, WireValue]


@record
class ReturnAnswer:
    """Return a JSON value from the enclosing function."""

    value: WireValue


@record
class RaiseNamed:
    """Raise the exception of this name with a message."""

    name: str
    message: str


@record
class NeedsCode:
    """Ask for code, because the instruction needs it; the run continues as `direct`."""

    reason: str


@record
class AskModel:
    """Ask a model a question from code: `njrt.llm(question, answer_type)`.

    The program requests it, not a model. `answer_type` describes the type of the answer; it is
    empty for text.
    """

    question: str
    answer_type: str = ""


CHANGES = "njrt.apply"
"""The function of a `Touch` for what contained code changes (`njrt.approve(changes=True)`)."""


@dataclass(frozen=True, slots=True)
class Touch:
    """Call a gated function of the program (`njrt.gated`).

    A block's code requests it. `arguments` are by parameter, as JSON; values that have no JSON form
    are text. The function `CHANGES` stands for what contained code changes: its argument `changes`
    has for each path, such as `orders[0].status`, what `was` there and what is there `now`.
    """

    function: str
    arguments: Mapping[str, Any]


@record
class Perform:
    """Perform an effect of the block's interface (`njrt.interface`).

    `function` names the interface and the effect, such as `shop.reserve`. `arguments` are by
    parameter, as the model sent them.
    """

    function: str
    arguments: Mapping[str, WireValue]


BlockEffect = (
    Run | BindOutputs | ReturnAnswer | RaiseNamed | BreakLoop | ContinueLoop | NeedsCode | Perform
)
"""The effects that a block's model may request."""

Effect = BlockEffect | AskModel | Touch

EFFECT_KINDS: Mapping[str, tuple[type[Effect], ...]] = {
    "answer": (BindOutputs, ReturnAnswer, RaiseNamed, BreakLoop, ContinueLoop, NeedsCode),
    "direct": (Run,),
    "interface": (Perform,),
    "llm": (AskModel,),
}
"""The effects of each set; `interface` is for blocks with one, `llm` for questions from code."""


@record
class Answer:
    """The effect was performed; the prompt resumes with this text."""

    text: str


@record
class Refusal:
    """The effect was a mistake of the model; the prompt resumes with a message about the next step.

    `times` is the number of such mistakes in this run, if they are counted: after the first, the
    prompt resumes without the code that failed, because a model would copy it.
    """

    message: str
    times: int = 1
    restart: str = ""
    """Text to add to the first message; the prompt resumes there, without the refused reply."""


EffectResult = Answer | Refusal | NeedsCode | Outcome
