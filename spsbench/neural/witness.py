"""The neural debugger as a model that predicts the effects of blocks.

    njrt.using(predict="python:spsbench.neural.witness:medium/model.npz")

    Variables before the step:  prices = [3, 4]            def step(prices):
    Step:  total = sum(prices)                       ->        total = sum(prices)        ->  total = 7
                                                               return                         END: goes on

The code of the effect becomes a function of the variables, and the network steps through it. The network never sees
the instruction: it predicts the effect of the code, not its purpose.
"""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

from njrt.errors import ConfigurationError, ModelError
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from spsbench.neural.network import load_network
from spsbench.neural.predictors import NeuralDebugger, NoPredictionError, Predictor
from spsbench.results import InputError
from spsbench.states.trace import Frame, StackState

MAX_STEPS = 60
"""The maximum number of steps over in one effect."""
_REQUEST = re.compile(r"Variables before the step:\n\n(.*?)\n\nStep:\n\n(.*)", re.DOTALL)
_VARIABLE = re.compile(r"([^\W\d]\w*) = (.*)")
_JUMP = re.compile(r"(break|continue|return|raise)\b\s*(.*)")


def open_model(file: str) -> Witness:
    """Return the model for a network file; raise ConfigurationError if the file has no network."""
    try:
        return Witness(NeuralDebugger(load_network(Path(file))), file)
    except InputError as problem:
        raise ConfigurationError(str(problem)) from None


class Witness:
    """A model that answers only requests for predictions."""

    protocol: Protocol = "text"

    def __init__(self, predictor: Predictor, name: str) -> None:
        self.name = f"python:spsbench.neural.witness:{name}"
        self._predictor = predictor

    def ask(self, request: Request) -> Reply:
        """Return the predicted variables and ending, in the form of `njrt.session.prediction`.

        If the network has no answer, the reply contains the reason instead of a prediction. Raises ModelError for
        other requests.
        """
        text = "".join(part.text for part in request.messages if isinstance(part, UserMessage))
        found = _REQUEST.search(text)
        if found is None:
            raise ModelError(f"{self.name} predicts effects of blocks, and cannot carry one out")
        variables = dict(_VARIABLE.findall(found[1]))
        deadline = time.monotonic() + request.timeout
        try:
            said = self._predict(variables, found[2], deadline)
        except NoPredictionError as problem:
            said = f"no answer: {problem}"
        return Reply(ModelMessage(said), model=self.name)

    async def aask(self, request: Request) -> Reply:
        """Do the same synchronously, because an answer takes only milliseconds."""
        return self.ask(request)

    def _predict(self, variables: dict[str, str], code: str, deadline: float) -> str:
        source = f"def step({', '.join(variables)}):\n{textwrap.indent(code, '    ')}\n"
        lines = source.splitlines()
        state = StackState("call", (Frame(1, variables),))
        for _ in range(MAX_STEPS):
            if time.monotonic() > deadline:
                raise NoPredictionError("the time is up")
            frame = state.frames[-1]
            said = lines[frame.line - 1].strip() if 0 < frame.line <= len(lines) else ""
            if state.event == "line" and (jump := _JUMP.match(said)):
                return _write_prediction(variables, frame.locals, _describe_jump(jump, state))
            following = self._predictor.predict(source, state, "step_over")
            if following is None or state.event in ("return", "exception"):
                return _write_prediction(variables, frame.locals, _describe_end(state))
            state = following
        raise NoPredictionError(f"the code does not end after {MAX_STEPS} steps")


def _describe_jump(jump: re.Match[str], state: StackState) -> str:
    word, rest = jump.groups()
    if word == "raise":
        return f"raise {rest.split('(')[0].strip() or 'RuntimeError'}"
    value = state.frames[-1].locals.get(rest, rest) if word == "return" else ""
    return f"{word} {value or 'None'}" if word == "return" else word


def _describe_end(state: StackState) -> str:
    if state.event == "exception":
        return f"raise {(state.value or 'Exception').split('(')[0]}"
    return "goes on"


def _write_prediction(before: dict[str, str], after: object, ending: str) -> str:
    held = dict(after) if isinstance(after, dict) else {}
    changes = [f"{name} = {text}" for name, text in held.items() if before.get(name) != text]
    return "\n".join((*changes, f"END: {ending}"))
