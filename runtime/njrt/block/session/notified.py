"""The layer that reports requests to the model, and their replies or errors, to a listener."""

from __future__ import annotations

import time
from dataclasses import replace

from njrt.data.records import record
from njrt.events import (
    Asked,
    Listener,
    Replied,
    RunId,
    Streamed,
    Unanswered,
    find_stream_listener,
)
from njrt.messages import Reply, Request
from njrt.models.model import Ask


@record
class Notified:
    """A layer that reports each request to the model, and its reply or error, to a listener."""

    run: RunId
    listener: Listener

    async def answer(self, request: Request, ask: Ask) -> Reply:
        began, turn = time.monotonic(), request.turn
        self.listener(Asked(self.run, time.time(), request))
        if (streamed := find_stream_listener(self.listener)) is not None:

            def report_text(text: str) -> None:
                streamed(Streamed(self.run, time.time(), turn, text))

            request = replace(request, on_text=report_text)
        try:
            reply = await ask(request)
        except BaseException as error:
            seconds = time.monotonic() - began
            self.listener(Unanswered(self.run, time.time(), turn, error, seconds))
            raise
        seconds = time.monotonic() - began
        self.listener(Replied(self.run, time.time(), turn, reply, seconds))
        return reply
