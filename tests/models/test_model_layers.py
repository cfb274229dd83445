"""Layers around a model: one way of writing them, whatever the program waits with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from njrt.errors import CallLimitError, ModelError, ServerError
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from njrt.models.model import Ask, LayeredModel
from njrt.testing import Scripted

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


def test_the_first_layer_is_the_outermost(ask):
    notes: list[str] = []
    model = LayeredModel(Scripted(["hi"]), (Noted("outer", notes), Noted("inner", notes)))
    assert ask(model, REQUEST).message.text == "hi"
    assert notes == ["outer asks", "inner asks", "inner has hi", "outer has hi"]


def test_without_layers_the_model_itself_answers(ask):
    assert ask(LayeredModel(Scripted(["hi"])), REQUEST).message.text == "hi"


def test_it_goes_by_the_models_name_and_protocol():
    model = LayeredModel(LayeredModel(Scripted([], name="some", protocol="text"), (Kept(),)))
    assert (model.name, model.protocol) == ("some", "text")


def test_a_layer_may_answer_by_itself(ask):
    model = Scripted([])
    notes: list[str] = []
    reply = ask(
        LayeredModel(model, (Noted("outer", notes), Kept(), Noted("inner", notes))), REQUEST
    )
    assert reply.source == "cache"
    assert notes == ["outer asks", "outer has kept"]
    assert model.requests == []


def test_a_layer_may_ask_twice(ask):
    model = Scripted([ServerError("down"), "up"])
    notes: list[str] = []
    reply = ask(
        LayeredModel(model, (Noted("outer", notes), Stubborn(), Noted("inner", notes))), REQUEST
    )
    assert (reply.message.text, reply.model) == ("up", "second try")
    assert [request.turn for request in model.requests] == [1, 2]
    assert notes == [
        "outer asks", "inner asks", "inner saw ServerError", "inner asks", "inner has up", "outer has up",
    ]  # fmt: skip


def test_errors_pass_through_every_layer_that_asked(ask):
    notes: list[str] = []
    model = LayeredModel(
        Scripted([ModelError("no")]), (Noted("outer", notes), Noted("inner", notes))
    )
    with pytest.raises(ModelError, match="no"):
        ask(model, REQUEST)
    assert notes == ["outer asks", "inner asks", "inner saw ModelError", "outer saw ModelError"]


def test_so_do_errors_of_layers(ask):
    notes: list[str] = []
    with pytest.raises(CallLimitError):
        ask(LayeredModel(Scripted([]), (Noted("outer", notes), Spent())), REQUEST)
    assert notes == ["outer asks", "outer saw CallLimitError"]


def test_an_interrupt_is_seen_by_the_layers_and_stays_what_it_is(ask):
    notes: list[str] = []

    def interrupted(request: Request) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(LayeredModel(Scripted(interrupted), (Noted("outer", notes),)), REQUEST)
    assert notes == ["outer asks", "outer saw KeyboardInterrupt"]


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
