"""The model of a trial: the requested model behind the layers of the trial and its method.

    LayeredModel(model, (RequestDefaults(temperature=0.0),))

    manual-code-interpreter:
        llm(prompt)  ->  model: python("17 * 23")  ->  "391"  ->  model: answer(391)  ->  391

Blocks, `llm` and static builds ask through the same layers, so that only the method differs.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from njrt.data.options import Options
from njrt.effects import Answer, Refusal, Run
from njrt.errors import CallLimitError, EffectLimitError, ReplyError
from njrt.events import Listener, Performed
from njrt.messages import (
    Message,
    Reply,
    Request,
    Tool,
    ToolMessage,
    ToolResult,
    UserMessage,
    make_object_schema,
)
from njrt.models.choose import choose_model
from njrt.models.model import Ask, Model, ModelAround
from spsbench.results import TrialLimits
from spsbench.script import SCRIPTED
from spsbench.trials.interpreter import InterpreterOutput, run_code


def load_model(name: str, base_url: str | None) -> Model | None:
    """Return the model with this name, at `base_url` if given; None if scripts answer."""
    if name == SCRIPTED:
        return None
    return choose_model(Options(model=name, base_url=base_url), os.environ)


@dataclass(frozen=True, slots=True)
class RequestDefaults:
    """A layer that sets the timeout, and the trial's temperature for requests without one."""

    temperature: float | None = None
    seconds: float | None = None

    async def answer(self, request: Request, ask: Ask) -> Reply:
        if request.temperature is None:
            request = replace(request, temperature=self.temperature)
        if self.seconds is not None:
            request = replace(request, timeout=self.seconds)
        return await ask(request)


PYTHON_TOOL = "python"
PYTHON_TOOL_DESCRIPTION = """\
Run Python, to calculate. It knows the standard library and nothing of the program that asks; \
variables stay until the answer. Gives what was printed: print what you want to know."""
PYTHON_TOOL_PARAMETERS = make_object_schema({"code": {"type": "string"}})
TEXT_INSTRUCTIONS = """
To calculate, you may run Python first. To do so reply with nothing but a code block that begins \
with ```run and ends with ```; you are told what it printed. It knows the standard library and \
nothing of the program that asks. What you know without code, answer at once. Reply with the \
answer in exactly the form that is asked for above, and nothing else."""
CONTINUE_MESSAGE = (
    "This is what the code gave. Now reply in exactly the form that was asked for at first, or run"
    " more code."
)
CODE_BLOCK = re.compile(r"```run[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class InterpreterModel(ModelAround):
    """A model that may run Python before it answers."""

    model: Model
    limits: TrialLimits
    """`effects` limits the pieces of code per request."""
    listener: Listener

    def ask(self, request: Request) -> Reply:
        """Ask, and run the requested code, until the model answers."""
        by_tools = self.model.protocol == "tools"
        if by_tools:
            tool = Tool(PYTHON_TOOL, PYTHON_TOOL_DESCRIPTION, PYTHON_TOOL_PARAMETERS)
            request = replace(request, tools=(*request.tools, tool))
        else:
            request = replace(request, system=request.system + TEXT_INSTRUCTIONS)
        ran: list[str] = []
        while True:
            reply = self.model.ask(request)
            pieces = tuple(find_code_requests(reply, by_tools))
            if not pieces:
                return reply
            if len(ran) + len(pieces) > self.limits.effects:
                raise EffectLimitError(
                    f"a prompt of the program reached its limit of {self.limits.effects} pieces"
                    " of code; allow more with `--effects`"
                )
            if request.turn >= self.limits.calls:
                raise CallLimitError(
                    f"a prompt of the program reached its limit of {self.limits.calls} model"
                    " calls; allow more with `--max-calls`"
                )
            outputs = []
            for code in pieces:
                ran.append(code)
                outputs.append(self._run_code(ran, request.turn))
            answered = (reply.message, make_output_message(reply, outputs))
            messages = (*request.messages, *answered)
            request = replace(request, messages=messages, turn=request.turn + 1)

    async def aask(self, request: Request) -> Reply:
        """Not supported: no manual program is asynchronous."""
        raise NotImplementedError("the code interpreter answers `llm`, which does not await")

    def _run_code(self, pieces: Sequence[str], turn: int) -> InterpreterOutput:
        began = time.monotonic()
        output = run_code(pieces)
        result = Refusal(output.text) if output.failed else Answer(output.text)
        seconds = time.monotonic() - began
        self.listener(
            Performed("manual", time.time(), turn, Run(pieces[-1], done=False), result, seconds)
        )
        return output


def find_code_requests(reply: Reply, by_tools: bool) -> list[str]:
    """Return the pieces of code that a reply requests; empty if it answers."""
    if not by_tools:
        return CODE_BLOCK.findall(reply.message.text)[:1]
    calls = reply.message.calls
    if not all(call.name == PYTHON_TOOL for call in calls):
        return []
    pieces = [(call.arguments or {}).get("code") for call in calls]
    for call, code in zip(calls, pieces, strict=True):
        if not isinstance(code, str):
            raise ReplyError(f"the model calls `{PYTHON_TOOL}` without code: {call.raw[:200]!r}")
    return [str(code) for code in pieces]


def make_output_message(reply: Reply, outputs: list[InterpreterOutput]) -> Message:
    """Return the message with the output of the code."""
    texts = [output.text or "(nothing was printed)" for output in outputs]
    if not reply.message.calls:
        return UserMessage(f"{texts[0]}\n---\n{CONTINUE_MESSAGE}")
    return ToolMessage(
        tuple(
            ToolResult(call.id, call.name, text, output.failed)
            for call, text, output in zip(reply.message.calls, texts, outputs, strict=True)
        )
    )
