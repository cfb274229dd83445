"""A loopback server of OpenAI's chat completions that answers every request by its text."""

from __future__ import annotations

from typing import Any

from batch_workplace import reply

from loopback import Answer, Raw, Seen, Status
from openai_server import OpenAIServer, says


class ComputedServer(OpenAIServer):
    """Answers every request by `reply`, in the order in which they come.

    After `limit` requests the key is revoked; a server that `is_down` answers HTTP 503.
    """

    def __init__(self, delay: float = 0.0, limit: int | None = None) -> None:
        super().__init__()
        self.delay = delay
        self.limit = limit
        self.is_down = False

    def answer_without_script(self, seen: Seen) -> Any:
        if self.is_down:
            return Raw("{}", status=503, headers={"retry-after-ms": "1"})
        if self.limit is not None and len(self.seen) > self.limit:
            return Status(401, body={"error": {"message": "the key was revoked"}})
        return Answer(says(reply(seen.body)).body, after=self.delay)

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": str(self.key), "OPENAI_BASE_URL": self.base_url}
