"""What a model is, and how a capability is wrapped around one.

    model = Layered(OpenAI("gpt-4.1"), (trace, limits, cache))
    reply = model.ask(request)              reply = await model.aask(request)

    request ──trace──limits──cache──> OpenAI          the first layer is the outermost
    reply   <─trace──limits──cache─── OpenAI

A layer is written once, as a generator that reads like the plain call it stands for, and serves threads
and event loops alike:

    def flow(self, request):
        if (kept := self.kept(request)) is not None:
            return kept                     # answered here; nobody further down is asked
        reply = yield request               # ask further down; its errors are raised right here
        self.keep(request, reply)
        return reply
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from njrt.messages import Protocol, Reply, Request


class Model(typing.Protocol):
    """Whoever answers requests. Safe to share between threads and between event loops.

    Both verbs raise `njrt.errors.ModelError`s, and nothing else, for what goes wrong on the way to the
    model and back.
    """

    @property
    def name(self) -> str:
        """The name by which a program chooses this model, such as `openai/gpt-4.1`."""

    @property
    def protocol(self) -> Protocol:
        """The protocol that suits this model, where the program does not choose one."""

    def ask(self, request: Request) -> Reply:
        """Wait for the reply, at most `request.timeout` seconds, retries included."""

    async def aask(self, request: Request) -> Reply:
        """Do the same, while the event loop runs on."""


Flow = Generator[Request, Reply, Reply]
"""Yields what to ask further down, is sent the reply or thrown the error, and returns the reply."""


class Layer(typing.Protocol):
    """A capability around a model: a cache, a recording, a trace, a limit."""

    def flow(self, request: Request) -> Flow:
        """Answer `request`, asking further down as often as need be."""


@dataclass(frozen=True, slots=True)
class LayeredModel:
    """`model` behind `layers`, outermost first; itself a `Model`."""

    model: Model
    layers: tuple[Layer, ...] = ()

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def protocol(self) -> Protocol:
        return self.model.protocol

    def ask(self, request: Request) -> Reply:
        flow = pass_through_layers(self.layers, request)
        proceed = partial(next, flow)
        try:
            while True:
                try:
                    asked = proceed()
                except StopIteration as end:
                    return _get_reply(end)
                try:
                    proceed = partial(flow.send, self.model.ask(asked))
                except BaseException as error:
                    proceed = partial(flow.throw, error)
        finally:
            del proceed  # an error in it would hold this frame and all that it knows

    async def aask(self, request: Request) -> Reply:
        flow = pass_through_layers(self.layers, request)
        proceed = partial(next, flow)
        try:
            while True:
                try:
                    asked = proceed()
                except StopIteration as end:
                    return _get_reply(end)
                try:
                    proceed = partial(flow.send, await self.model.aask(asked))
                except BaseException as error:
                    proceed = partial(flow.throw, error)
        finally:
            del proceed


def pass_through_layers(layers: tuple[Layer, ...], request: Request) -> Flow:
    """All `layers` as one flow: it yields what only the model itself can answer."""
    if not layers:
        return (yield request)
    outer, inner = layers[0].flow(request), layers[1:]
    proceed: Callable[[], Request] = partial(next, outer)
    try:
        while True:
            try:
                asked = proceed()
            except StopIteration as end:
                return _get_reply(end)
            try:
                proceed = partial(outer.send, (yield from pass_through_layers(inner, asked)))
            except BaseException as error:
                # Whatever it is, the layer sees it where it asked, as it would from a plain call; a trace
                # thus closes its span when the program is interrupted.
                proceed = partial(outer.throw, error)
    finally:
        del proceed


def _get_reply(end: StopIteration) -> Reply:
    reply = end.value
    assert isinstance(reply, Reply), "a layer's flow returns the reply"
    return reply
