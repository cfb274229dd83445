"""Breakpoints in words."""

from __future__ import annotations

import re

import pytest

from njc.debug.timeline.breakpoints import parse_breakpoint

TEXTS = [
    "block a:b/mail.njpy:12 if n > 3",
    "block",
    "block mail.njpy:12",
    "effect",
    "effect Run if len(code) > 3",
    "jump",
    "jump returned",
    "variable total",
    "variable total if total if total else 0",
    "refusal",
    "type",
    "limit",
]


@pytest.mark.parametrize("text", TEXTS)
def test_reading_what_was_written(text: str) -> None:
    assert str(parse_breakpoint(text)) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("effect run", "effect Run"),
        ("effect BINDOUTPUTS if n", "effect BindOutputs if n"),
    ],
)
def test_what_is_meant(text: str, meant: str) -> None:
    assert str(parse_breakpoint(text)) == meant


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("effect runn", "there is no effect `runn`; write one of: BindOutputs, "),
        ("jump break", "there is no jump `break`; write one of: broke, continued, "),
        ("jump home", "there is no jump `home`; write one of: broke, continued, "),
        ("effect if x =", "the condition `x =` is not an expression: "),
        ("refusal if for", "the condition `for` is not an expression: "),
        ("block if \x00", "the condition `\x00` is not an expression: "),
    ],
)
def test_what_can_never_be_hit_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        parse_breakpoint(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "line mail.njpy:12",
        "block mail.njpy",
        "block mail.njpy:x",
        "block :",
        "variable",
        "variable a b",
        "tokens above 500",
        "-3",
        "refusals",
        "refusal x",
        "effekt Run",
    ],
)
def test_what_is_not_a_breakpoint(text: str) -> None:
    with pytest.raises(ValueError, match="is not a breakpoint; write one of: block \\[FILE:LINE"):
        parse_breakpoint(text)
