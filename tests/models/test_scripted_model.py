"""The scripted model, which all other tests lean on."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt import using
from njrt.errors import ConfigurationError, ModelError
from njrt.messages import ModelMessage, Reply, Request, ToolCall, Usage, UserMessage
from njrt.testing import Scripted, call, run

REQUEST = Request("", (UserMessage("hello"),), place="mailbox.njpy:12")


def called(id: str, name: str, **arguments: object) -> ToolCall:
    return ToolCall(id, name, arguments, json.dumps(arguments))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("hi", ModelMessage("hi")),
        (ModelMessage("hi"), ModelMessage("hi")),
        (
            run("x = 1", done=True),
            ModelMessage("", (called("call_1_1", "run", code="x = 1", done=True),)),
        ),
        (
            [call("lookup", var="x"), call("done")],
            ModelMessage("", (called("call_1_1", "lookup", var="x"), called("call_1_2", "done"))),
        ),
    ],
    ids=["text", "message", "call", "calls"],
)
def test_what_a_script_may_say(ask, said, message):
    reply = ask(Scripted([said]), REQUEST)
    assert reply == Reply(message, model="scripted", source="script")


def test_a_reply_is_said_as_it_is(ask):
    said = Reply(ModelMessage("hi"), "length", Usage(10, 2), "some-model", "cache")
    assert ask(Scripted([said]), REQUEST) == said


def test_what_is_no_script_is_refused(ask):
    with pytest.raises(ConfigurationError, match=r"write Scripted\(\['abc'\]\)"):
        Scripted("abc")
    with pytest.raises(ConfigurationError, match="reply 1 of the script is 3; a reply is a text"):
        ask(Scripted([3]), REQUEST)


def test_a_script_may_be_a_function_of_the_request(ask):
    model = Scripted(lambda request: request.place)
    assert [ask(model, REQUEST).message.text for _ in range(3)] == ["mailbox.njpy:12"] * 3


def test_requests_are_kept_and_ids_are_unique(ask):
    model = Scripted([run("x = 1"), run("y = 1")])
    ids = {ask(model, REQUEST).message.calls[0].id for _ in range(2)}
    assert len(ids) == 2
    assert model.requests == [REQUEST, REQUEST]


def test_a_script_that_has_ended_says_who_asked(ask):
    model = Scripted(["hi"])
    ask(model, REQUEST)
    with pytest.raises(
        ModelError, match=r"mailbox\.njpy:12 asks for reply 2, but the script has 1;"
    ):
        ask(model, REQUEST)


@pytest.mark.parametrize(
    ("program", "reply", "reason"),
    [
        ("Put 1 into <:n: int>.", {"n": "one"}, "`n`: Input should be a valid integer"),
        ("Put 1 into <:n: int>.", {}, "`n` is missing"),
        ("Append 1 to <numbers>.", {"n": 1}, "your reply holds no code"),
        ("Append 1 to <numbers>.", run("numbers = []"), "`numbers` is read-only in this block"),
        ("Append 1 to <numbers>.", run("numbers.append(1)"), "end the block by done=True"),
    ],
)
def test_a_script_that_has_ended_says_what_came_of_its_last_reply(program, reply, reason):
    text = f'numbers = []\n"""natural\n{program}\n"""\n'
    output = compile_source(SourceFile("mail.njpy", text.encode())).output
    with (
        using(model=Scripted([reply])),
        pytest.raises(
            ModelError, match=f"(?s)add one(; the last reply was answered|, or ).*{reason}"
        ),
    ):
        exec(output, {})


def test_threads_share_a_script():
    model = Scripted([str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as threads:
        said = list(threads.map(lambda _: model.ask(REQUEST).message.text, range(200)))
    assert sorted(said, key=int) == [str(number) for number in range(200)]


def test_a_slow_model_lets_the_event_loop_run_on():
    async def together() -> list[Reply]:
        model = Scripted(["hi"] * 100, delay=0.2)
        return await asyncio.gather(*(model.aask(REQUEST) for _ in range(100)))

    begun = time.monotonic()
    assert len(asyncio.run(together())) == 100
    assert time.monotonic() - begun < 10  # of 20
