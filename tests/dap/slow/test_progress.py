"""Replies that come in, as progress events."""

from __future__ import annotations

from njc.runs.dap.adapter import ReplyProgress
from njc.runs.timeline.happenings import Noticed, ReplyStreamed


def test_replies_begin_grow_and_end() -> None:
    progress = ReplyProgress()
    happenings = [
        Noticed("x"),
        ReplyStreamed(2, "mail.njpy:12", 1, "tot"),
        ReplyStreamed(2, "mail.njpy:12", 1, "total"),
        ReplyStreamed(2, "mail.njpy:12", 2, "x"),
        Noticed("x"),
        Noticed("x"),
    ]
    events = [event for happening in happenings for event in progress.follow(happening)]
    assert [(event, body["progressId"], body.get("message", "")) for event, body in events] == [
        ("progressStart", "reply-2-1", ""),
        ("progressUpdate", "reply-2-1", "3 characters so far"),
        ("progressUpdate", "reply-2-1", "5 characters so far"),
        ("progressEnd", "reply-2-1", ""),
        ("progressStart", "reply-2-2", ""),
        ("progressUpdate", "reply-2-2", "1 characters so far"),
        ("progressEnd", "reply-2-2", ""),
    ]
    assert events[0][1]["title"] == "The model replies, mail.njpy:12"
