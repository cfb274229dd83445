"""How replies of the vendors end, and what they are counted as."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anthropic_server import message, text
from conversations import PLAIN, TOOLS
from njrt.messages import Usage
from openai_server import calls, completion, says
from vendors import VENDORS

CUT = {"role": "assistant", "content": "x = "}
FILTERED = {"role": "assistant", "content": None}
ENDS = [
    ("openai", says(None), "", "end"),
    ("openai", says(""), "", "end"),
    ("openai", says(None, refusal="I cannot help."), "I cannot help.", "refusal"),
    ("openai", completion(FILTERED, "content_filter"), "", "refusal"),
    ("openai", completion(CUT, "length"), "x = ", "length"),
    ("openai", calls(("run", '{"co'), finish="length"), "", "length"),
    ("anthropic", message(), "", "end"),
    ("anthropic", message(text("so"), stop="end_turn"), "so", "end"),
    ("anthropic", message(text("so"), stop="stop_sequence"), "so", "end"),
    ("anthropic", message(text("so"), stop="pause_turn"), "so", "end"),
    ("anthropic", message(text("so"), stop="max_tokens"), "so", "length"),
    ("anthropic", message(text("so"), stop="model_context_window_exceeded"), "so", "length"),
    ("anthropic", message(text("so"), stop="refusal"), "so", "refusal"),
]


@pytest.mark.parametrize(("vendor", "answer", "text_", "stop"), ENDS)
def test_how_a_reply_can_end(vendor, answer, text_, stop):
    with VENDORS[vendor].server([answer]) as server:
        reply = VENDORS[vendor].connect(server).ask(TOOLS)
    assert (reply.message.text, reply.stop) == (text_, stop)


def says_with(usage):
    return completion({"role": "assistant", "content": "fine"}, usage=usage)


SONNET = (100 * 3 + 300 * 3.75 + 600 * 0.30 + 20 * 15) / 1_000_000
USAGES = [
    ("openai", says("a"), Usage(1000, 20, 600, 0.00126)),
    ("openai", says_with(None), Usage()),
    ("openai", says_with({}), Usage(usd=0.0)),
    ("openai", says_with({"prompt_tokens": 5, "prompt_tokens_details": None}), Usage(5, usd=1e-5)),
    ("anthropic", message(text("fine")), Usage(1000, 20, 600, SONNET)),
    ("anthropic", message(text("fine"), usage=None), Usage()),
    ("anthropic", message(text("fine"), usage={"output_tokens": 3}), Usage(0, 3, usd=4.5e-5)),
]


@pytest.mark.parametrize(("vendor", "answer", "usage"), USAGES)
def test_all_input_is_counted_and_caches_have_their_own_prices(vendor, answer, usage):
    with VENDORS[vendor].server([answer]) as server:
        used = VENDORS[vendor].connect(server).ask(PLAIN).usage
    assert used == replace(usage, usd=pytest.approx(usage.usd))
