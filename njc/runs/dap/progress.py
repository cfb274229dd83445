"""A reply that is coming in, as progress events of the Debug Adapter Protocol.

    ReplyStreamed(2, "mail.njpy:12", 1, "total = ")    progressStart, progressUpdate: "8 characters so far"
    ReplyStreamed(2, "mail.njpy:12", 1, "total = 3")   progressUpdate: "9 characters so far"
    Stepped(...)                                       progressEnd

Clients that do not report progress get nothing. Of several replies that come in at once, the last to have a part is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from njc.runs.timeline.happenings import Happening, ReplyStreamed

ProgressEvent = tuple[str, Mapping[str, Any]]


class ReplyProgress:
    """Follows the replies (state: the one that is shown)."""

    def __init__(self) -> None:
        self._shown = ""

    def follow(self, happening: Happening) -> Iterator[ProgressEvent]:
        """Yield the events that a happening causes."""
        if not isinstance(happening, ReplyStreamed):
            yield from self._end()
            return
        name = f"reply-{happening.run}-{happening.turn}"
        if name != self._shown:
            yield from self._end()
            self._shown = name
            title = f"The model replies, {happening.place}"
            yield "progressStart", {"progressId": name, "title": title, "cancellable": False}
        message = f"{len(happening.text):,} characters so far"
        yield "progressUpdate", {"progressId": name, "message": message}

    def _end(self) -> Iterator[ProgressEvent]:
        if self._shown:
            yield "progressEnd", {"progressId": self._shown}
        self._shown = ""
