"""Effects as text that can be edited: reading what was written gives the same effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from njc.debug.lines.stop_report import show_source
from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.effect_text import format_effect, format_reply, read_effect_text
from njc.debug.timeline.steps import Step
from njrt.effects import (
    BindOutputs,
    BreakLoop,
    Effect,
    NeedsCode,
    Perform,
    RaiseNamed,
    ReturnAnswer,
    Run,
    Touch,
)
from njrt.values.effect_json import effect_to_json

EFFECTS: list[Effect] = [
    Run("x = 1\nprint(x)", True),
    BreakLoop(),
    NeedsCode("it\nmust: count"),
    BindOutputs({"team": "billing", "sum": 1.5, "lines": [{"a = b": True}]}),
    BindOutputs({"text": "one\u2028two\x85\x1c\x0c"}),
    ReturnAnswer({"a": "ä"}),
    RaiseNamed("KeyError", "no: such = key"),
    Touch("shop.pay", {"order": 3, "note": 'it\'s "late"'}),
    Touch("njrt.apply", {"changes": {'a["k"].b': {"was": None, "now": "x\n"}}}),
    Perform("shop.reserve", {"product": {"type": "Ref", "addr": 2}, "count": None}),
    Perform("shop.leave", {}),
]


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: type(effect).__name__)
def test_reading_what_was_written_gives_the_same(effect: Effect) -> None:
    value = effect_to_json(effect)
    assert read_effect_text(value, format_effect(value)) == value


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (BindOutputs({"team": "a"}), "team: 1"),
        (BindOutputs({"team": "a"}), "team = billing"),
        (NeedsCode("why"), "reason = 3"),
        (NeedsCode("why"), "other = 3"),
        (Perform("shop.leave", {}), "shop.leave("),
        (Perform("shop.leave", {}), "shop.leave(3)"),
        (Touch("shop.pay", {"order": 3}), "shop.pay(order=order)"),
        (Run("x = 1", True), "foo bar ("),
        (Run("x = 1", True), "x = '\0'"),
        (Run("x = 1", False), "for x in y:"),
    ],
)
def test_other_text_is_refused(effect: Effect, text: str) -> None:
    with pytest.raises(RunControlError, match=r"does not have the form|not an effect"):
        read_effect_text(effect_to_json(effect), text)


@pytest.mark.parametrize(
    ("lines", "current"),
    [
        (['    """natural', "    Put <a> into <:b>.", '    """'], 2),
        (['"""natural(effects="direct", max_calls=3)', "", "Put <a> into <:b>.", '"""'], 3),
        (["rf'''prompt ", "naturally put <a>", "'''"], 2),
        (["Put <a> into <:b>."], 1),
        ([""], 1),
    ],
)
def test_the_current_line_is_the_first_with_text_or_at_the_exit_the_last(
    lines: list[str], current: int
) -> None:
    entry = Step(0, "enter", 1, "a.njpy:1", instruction="\n".join(lines))
    assert show_source(entry, []).current == current
    assert show_source(replace(entry, kind="exit"), []).current == len(lines)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ({"text": ["B"], "probabilities": [0.05, 0.95]}, "B\n\nA 0.050, B 0.950"),
        ({"text": ["B"], "probabilities": ["?", 0.95]}, "B\n\nB 0.950"),
        ({"text": ["B"], "probabilities": "?"}, "B"),
    ],
)
def test_a_reply_is_shown_with_the_probabilities(reply: dict[str, Any], shown: str) -> None:
    assert format_reply(reply) == shown
