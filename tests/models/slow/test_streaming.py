"""Replies that come in pieces: the same reply as whole, whatever the server does; and who hears of the pieces."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import njrt
from anthropic_server import AnthropicServer, message, split_message, text, thinking, tool_use
from conversations import PLAIN, TOOLS
from loopback import Stream
from njrt.errors import ServerError
from njrt.events import Event, Streamed
from njrt.log.listeners import add_listener
from njrt.messages import Request
from openai_server import OpenAIServer, calls, completion, says, split_completion
from vendors import VENDORS, Vendor
from waiting import HANG_SECONDS

openai = VENDORS["openai"].connect
anthropic = partial(VENDORS["anthropic"].connect, model="claude-sonnet-5-5")


def streamed(request: Request, heard: list[str] | None = None) -> Request:
    return replace(request, on_text=(heard if heard is not None else []).append)


CODE = json.dumps({"code": "total = sum(prices)\nprint('é 東京')", "done": True})
COMPLETIONS = {
    "text": says("Good morning, 東京. " * 9),
    "empty": says(""),
    "one call": calls(("run", CODE)),
    "two calls": calls(("run", CODE), ("run", '{"code": "x'), ids=False),
    "text and call": completion(
        {"content": "Now:", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "run", "arguments": CODE}}]}
    ),
    "cut off": completion({"role": "assistant", "content": "half"}, "length"),
    "refused": says(None, refusal="I would rather not."),
    "no usage": completion({"role": "assistant", "content": "x"}, usage=None),
}  # fmt: skip
MESSAGES = {
    "text": message(text("Good morning, 東京. " * 9)),
    "call": message(tool_use("t1", "run", json.loads(CODE))),
    "call without arguments": message(tool_use("t1", "run", {})),
    "text and calls": message(text("Now:"), tool_use("t1", "run", {"code": "x"}), tool_use("t2", "run", {"code": "y"})),
    "thinking": message(thinking("c2lnbmF0dXJl" * 9), text("So."), tool_use("t1", "run", {"code": "x"})),
    "cut off": message(text("half"), stop="max_tokens"),
}  # fmt: skip


ANSWERS = {
    **{f"openai {kind}": (OpenAIServer, openai, said) for kind, said in COMPLETIONS.items()},
    **{f"anthropic {kind}": (AnthropicServer, anthropic, said) for kind, said in MESSAGES.items()},
}


@pytest.mark.parametrize(("server", "connect", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_a_streamed_reply_is_the_same_as_a_whole_one(
    server: Any, connect: Any, answer: Any
) -> None:
    heard: list[str] = []
    with server([answer, answer]) as running:
        model = connect(running)
        one, other = model.ask(streamed(TOOLS, heard)), model.ask(TOOLS)
        assert one == other
        assert one.message.vendor_content == other.message.vendor_content
        assert [seen.body.get("stream") for seen in running.seen] == [True, None]
    assert all(later.startswith(sooner) for sooner, later in itertools.pairwise(heard))


def test_the_text_is_heard_while_it_comes() -> None:
    heard: list[str] = []
    has_heard = threading.Event()

    def hear(said: str) -> None:
        heard.append(said)
        has_heard.set()

    events = list(split_completion(says("Good morning").body))

    def send() -> Iterator[Any]:
        yield from events[:3]
        assert has_heard.wait(HANG_SECONDS), "nothing is heard before the end"
        yield from events[3:]

    with OpenAIServer([Stream(send()), Stream(events[:3], then="stall")]) as server:  # type: ignore[arg-type]
        model = openai(server)
        reply = model.ask(replace(PLAIN, on_text=hear, timeout=600))
        assert reply.message.text == "Good morning"
        assert heard[0] in ("Good ", "Good morni")
        with pytest.raises(ServerError, match=r"no reply .* within 0\.7 s"):
            model.ask(replace(PLAIN, on_text=hear, timeout=0.7))
    assert len(server.seen) <= 2


def test_arguments_of_tool_calls_are_heard_too() -> None:
    heard: list[str] = []
    with OpenAIServer([calls(("run", CODE))]) as server:
        openai(server).ask(streamed(TOOLS, heard))
    with AnthropicServer([message(text("Now:"), tool_use("t1", "run", {"code": "x"}))]) as server:
        anthropic(server).ask(streamed(TOOLS, heard))
    assert CODE in heard
    assert heard[-1] == 'Now:{"code": "x"}'


def call_piece(index: int | None = 0, **fields: Any) -> dict[str, Any]:
    made = {
        "index": index,
        "id": "a",
        "type": "function",
        "function": {"name": "run", "arguments": "{}"},
    }
    return {"tool_calls": [made | fields]}


ODD_STREAMS: dict[str, tuple[list[Any], list[str] | None]] = {
    "a call without a type": ([call_piece(type=None)], ["a"]),
    "an id that comes again": ([call_piece(), call_piece(function={"arguments": ""})], ["aa"]),
    "a name that is null later": ([call_piece(), {"tool_calls": [{"index": 0, "function": {"name": None}}]}], ["a"]),
    "a call without an index": ([call_piece(None)], None),
    "a call with the index 1": ([call_piece(1)], None),
    "a type that is null later": ([call_piece(), call_piece(id=None, type=None, function={})], None),
    "a delta that is null": ([call_piece(), None], None),
}  # fmt: skip
"""The ids of the calls that the SDK makes of a stream; None for an error."""


@pytest.mark.parametrize(("deltas", "ids"), ODD_STREAMS.values(), ids=ODD_STREAMS)
def test_odd_streams_are_what_the_sdk_makes_of_them(
    deltas: list[Any], ids: list[str] | None
) -> None:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    events = [{"choices": []}, *({"choices": [choice]} for choice in choices), "[DONE]"]
    with OpenAIServer([Stream(events)]) as server:
        if ids is None:
            with pytest.raises(ServerError, match="broke off"):
                openai(server).ask(streamed(TOOLS))
            return
        reply = openai(server).ask(streamed(TOOLS))
    assert [call.id for call in reply.message.calls] == ids
    assert [(call.name, call.raw) for call in reply.message.calls] == [("run", "{}")]


def test_halves_of_a_character_in_two_events_are_one() -> None:
    deltas = [{"content": half} for half in ("a ", "\ud83d", "\ude00")]
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    with OpenAIServer([Stream([*events, end])]) as server:
        assert openai(server).ask(streamed(PLAIN)).message.text == "a 😀"


HALF = list(split_completion(says("Good morning, all of you").body))[:4]
HALF_MESSAGE = list(split_message(message(text("Good morning, all of you")).body))[:5]
BROKEN: dict[str, Callable[[list[Any]], Stream]] = {
    "cut off": lambda half: Stream(half, then="cut"),
    "ended too early": lambda half: Stream(half),
    "no events": lambda half: Stream([]),
    "an error": lambda half: Stream([*half, {"type": "error", "error": {"message": "Overloaded"}}]),
    "not JSON": lambda half: Stream([*half, "{nonsense"]),
    "not an event": lambda half: Stream([*half, [1, 2]]),
    "other types": lambda half: Stream([*half, {"type": 3, "choices": [{"delta": {"content": 7}}]}]),
}  # fmt: skip


REASON = r"broke off \((?!(Assertion|Attribute|Index|Key|Type|Value)Error\))"
"""An error, which does not show what the SDK failed on."""


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_is_an_error_and_the_next_request_is_streamed(
    broken: Callable[[list[Any]], Stream],
) -> None:
    with OpenAIServer([broken(HALF), says("whole")]) as server:
        model = openai(server)
        with pytest.raises(ServerError, match=rf"^the stream of openai/gpt-4\.1 at .* {REASON}"):
            model.ask(streamed(PLAIN))
        assert model.ask(streamed(PLAIN)).message.text == "whole"
        assert [seen.body.get("stream") for seen in server.seen] == [True, True]
    with AnthropicServer([broken(HALF_MESSAGE)]) as server:
        with pytest.raises(ServerError, match=REASON):
            anthropic(server).ask(streamed(PLAIN))
        assert len(server.seen) == 1


def test_the_tokens_that_a_broken_stream_has_reported_are_counted() -> None:
    with (
        AnthropicServer([BROKEN["cut off"](HALF_MESSAGE)]) as server,
        pytest.raises(ServerError) as caught,
    ):
        anthropic(server).ask(streamed(PLAIN))
    (attempt,) = caught.value.attempts
    assert (attempt.outcome, attempt.usage.input, attempt.usage.output) == ("ServerError", 1000, 1)
    assert attempt.usage.usd is not None
    used = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    with (
        OpenAIServer([Stream([*HALF, used], then="cut")]) as server,
        pytest.raises(ServerError) as caught,
    ):
        openai(server).ask(streamed(PLAIN))
    (attempt,) = caught.value.attempts
    assert (attempt.usage.input, attempt.usage.output) == (7, 3)


def test_a_usage_that_comes_before_the_end_is_kept() -> None:
    used = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    *before, end = list(split_completion(completion({"content": "hi"}, usage=None).body))[:-1]
    with OpenAIServer([Stream([*before, used, end])]) as server:
        usage = openai(server).ask(streamed(PLAIN)).usage
    assert (usage.input, usage.output) == (7, 3)


def test_a_server_that_does_not_stream_is_asked_for_it_once() -> None:
    with OpenAIServer([says("one"), says("two")], streams=False) as server:
        model = openai(server)
        assert [model.ask(streamed(PLAIN)).message.text for _ in range(2)] == ["one", "two"]
        assert ["stream" in seen.body for seen in server.seen] == [True, False, False]


def test_a_server_that_ignores_the_wish_for_a_stream_is_understood() -> None:
    class Whole(OpenAIServer):
        def split_answer(self, body: Any) -> None:
            return None

    with Whole([says("whole")]) as server:
        assert openai(server).ask(streamed(PLAIN)).message.text == "whole"
        assert len(server.seen) == 1


def test_nothing_is_streamed_unless_somebody_listens() -> None:
    class Hearer:
        def __init__(self) -> None:
            self.heard: list[Streamed] = []

        def __call__(self, event: Event) -> None:
            pass

        def receive_streamed(self, event: Streamed) -> None:
            self.heard.append(event)

    hearer = Hearer()
    with OpenAIServer([says("one"), says("two"), says("three")]) as server:
        with njrt.using(model=openai(server)):
            assert njrt.llm("Count.") == "one"
            remove = add_listener(hearer)
            try:
                assert njrt.llm("Count.") == "two"
            finally:
                remove()
            assert njrt.llm("Count.") == "three"
        assert [seen.body.get("stream") for seen in server.seen] == [None, True, None]
    assert [event.text for event in hearer.heard][-1] == "two"
    assert {event.turn for event in hearer.heard} == {1}


def test_a_listener_that_fails_does_not_break_the_reply() -> None:
    class Failing:
        def __call__(self, event: Event) -> None:
            pass

        def receive_streamed(self, event: Streamed) -> None:
            raise RuntimeError

    remove = add_listener(Failing())
    try:
        with OpenAIServer([says("one")]) as server, njrt.using(model=openai(server)):
            assert njrt.llm("Count.") == "one"
            assert len(server.seen) == 1
    finally:
        remove()


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_the_body_is_sent_as_it_was_made(vendor: Vendor, is_streamed: bool) -> None:
    """The SDKs do not convert it: their types would drop or rename fields that they do not know."""
    wish = {"stream": True, "stream_options": {"include_usage": True}}
    if vendor.name == "anthropic":
        del wish["stream_options"]
    for request in (PLAIN, TOOLS):
        with vendor.server([vendor.say("Yes.")]) as running:
            model = vendor.connect(running)
            model.ask(streamed(request) if is_streamed else request)
        sent = running.seen[-1].body
        assert sent == model.make_body(request) | (wish if is_streamed else {})
