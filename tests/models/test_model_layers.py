"""Layers around a model: one way of writing them, whatever the program waits with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from njrt.errors import CallLimitError, ModelError, ServerError
from njrt.models.model import Ask, LayeredModel
from njrt.testing import ModelMessage, Reply, Request, Scripted, UserMessage

REQUEST = Request("", (UserMessage("hello"),))


@dataclass
class Noted:
    """Notes what passes, both ways."""

    name: str
    notes: list[str] = field(default_factory=list)

    async def answer(self, request: Request, ask: Ask) -> Reply:
        self.notes.append(f"{self.name} asks")
        try:
            reply = await ask(request)
        except BaseException as error:
            self.notes.append(f"{self.name} saw {type(error).__name__}")
            raise
        self.notes.append(f"{self.name} has {reply.message.text}")
        return reply


class Kept:
    """Answers without asking further down."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        return Reply(ModelMessage("kept"), source="cache")


class Stubborn:
    """Asks again, once, after a server's failure, and says so."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        try:
            return await ask(request)
        except ServerError:
            reply = await ask(replace(request, turn=2))
            return replace(reply, model="second try")


class Spent:
    """Lets nothing through."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        raise CallLimitError("no more calls")


def interrupt(request: Request) -> str:
    raise KeyboardInterrupt


LAYERED: dict[str, tuple[Any, Any, Any, list[str]]] = {
    "two": (["hi"], lambda outer, inner: (outer, inner), "hi",
            ["outer asks", "inner asks", "inner has hi", "outer has hi"]),
    "none": (["hi"], lambda outer, inner: (), "hi", []),
    "one that answers by itself": ([], lambda outer, inner: (outer, Kept(), inner), "kept",
                                   ["outer asks", "outer has kept"]),
    "one that asks twice": ([ServerError("down"), "up"], lambda outer, inner: (outer, Stubborn(), inner), "up",
                            ["outer asks", "inner asks", "inner saw ServerError", "inner asks", "inner has up", "outer has up"]),
    "an error": ([ModelError("no")], lambda outer, inner: (outer, inner), ModelError,
                 ["outer asks", "inner asks", "inner saw ModelError", "outer saw ModelError"]),
    "an error of a layer": ([], lambda outer, inner: (outer, Spent()), CallLimitError,
                            ["outer asks", "outer saw CallLimitError"]),
    "an interrupt": (interrupt, lambda outer, inner: (outer,), KeyboardInterrupt,
                     ["outer asks", "outer saw KeyboardInterrupt"]),
}  # fmt: skip
"""What the model replies, the layers, the reply or the error, and what two layers note of it."""


@pytest.mark.parametrize(
    ("script", "arrange", "outcome", "expected"), LAYERED.values(), ids=LAYERED
)
def test_what_passes_the_layers(ask, script, arrange, outcome, expected):
    notes: list[str] = []
    model = Scripted(script)
    layers = arrange(Noted("outer", notes), Noted("inner", notes))
    layered = LayeredModel(model, layers)
    if isinstance(outcome, str):
        assert ask(layered, REQUEST).message.text == outcome
    else:
        with pytest.raises(outcome):
            ask(layered, REQUEST)
    assert notes == expected
    assert [request.turn for request in model.requests] == [1, 2][: len(model.requests)]


def test_it_goes_by_the_models_name_and_protocol():
    model = LayeredModel(LayeredModel(Scripted([], name="some", protocol="text"), (Kept(),)))
    assert (model.name, model.protocol) == ("some", "text")


def test_so_is_a_cancellation():
    notes: list[str] = []

    async def cancelled() -> None:
        model = LayeredModel(Scripted(["late"], delay=60), (Noted("outer", notes),))
        task = asyncio.create_task(model.aask(REQUEST))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert notes == ["outer asks", "outer saw CancelledError"]


class Waiting:
    """Awaits something that is not there without an event loop."""

    async def answer(self, request: Request, ask: Ask) -> Reply:
        await asyncio.sleep(0)
        return await ask(request)


def test_a_layer_that_waits_is_an_error_in_a_synchronous_program():
    model = LayeredModel(Scripted(["hi"]), (Waiting(),))
    with pytest.raises(RuntimeError, match="a coroutine waited where nothing can be awaited"):
        model.ask(REQUEST)
    assert asyncio.run(model.aask(REQUEST)).message.text == "hi"
