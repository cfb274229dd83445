"""The protocol of models, and layers that add a capability to one.

model = LayeredModel(OpenAI("gpt-4.1"), (trace, limits, cache))     the first layer is the outermost
reply = model.ask(request)              reply = await model.aask(request)

async def answer(self, request, ask):       a layer, written once for threads and event loops alike
    if (kept := self.find_kept(request)) is not None:
        return kept                     # without asking the layers and the model below
    reply = await ask(request)          # nothing else is awaited
    self.keep(request, reply)
    return reply
"""

from __future__ import annotations

import typing
from collections.abc import Awaitable, Callable, Generator
from functools import partial

from njrt.data.coroutines import run_without_waiting
from njrt.data.records import record
from njrt.messages import Protocol, Reply, Request

T = typing.TypeVar("T")
Asked = typing.TypeVar("Asked")
Answered = typing.TypeVar("Answered")


class Model(typing.Protocol):
    """Answers requests. Safe to share between threads and between event loops.

    Both methods raise only `njrt.errors.ModelError`s for failures on the way to the model and back.
    """

    @property
    def name(self) -> str:
        """The name that programs use for this model, such as `openai/gpt-4.1`."""

    @property
    def protocol(self) -> Protocol:
        """The protocol that suits this model, unless the program chooses one."""

    def ask(self, request: Request) -> Reply:
        """Return the reply, after at most `request.timeout` seconds, retries included."""

    async def aask(self, request: Request) -> Reply:
        """Do the same without blocking the event loop."""


Ask = Callable[[Request], Awaitable[Reply]]
"""Asks the layers and the model further down."""


class Layer(typing.Protocol):
    """A capability around a model: a cache, a recording, a trace, a limit."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Answer `request`, asking further down as often as needed."""


class ModelAround:
    """A wrapper of one model, `model`, with the same name and protocol."""

    __slots__ = ()
    model: Model

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def protocol(self) -> Protocol:
        return self.model.protocol


class CallLister:
    """A model with replies and errors that list their calls if there were several (`attempts`)."""

    __slots__ = ()


@record
class LayeredModel(ModelAround):
    """`model` behind `layers`, outermost first; itself a `Model`."""

    model: Model
    layers: tuple[Layer, ...] = ()

    def ask(self, request: Request) -> Reply:
        async def ask_model(request: Request) -> Reply:
            return self.model.ask(request)

        return run_without_waiting(self._ask_layers(request, ask_model))

    async def aask(self, request: Request) -> Reply:
        return await self._ask_layers(request, self.model.aask)

    async def _ask_layers(self, request: Request, ask: Ask) -> Reply:
        for layer in reversed(self.layers):
            ask = partial(layer.answer, ask=ask)
        return await ask(request)


def answer_all(questions: Generator[Asked, Answered, T], answer: Callable[[Asked], Answered]) -> T:
    """Answer a generator's questions and return its result; it receives the errors of `answer`."""
    try:
        question = next(questions)
        while True:
            try:
                answered = answer(question)
            except Exception as error:
                question = questions.throw(error)
            else:
                question = questions.send(answered)
    except StopIteration as end:
        result: T = end.value
        return result
