"""A model that asks a loopback server without an SDK: importing one takes half the time of a short process.

NJC_MODEL=python:plain_model:small PLAIN_SERVER=http://127.0.0.1:1234/v1
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from njrt.messages import ModelMessage, Protocol, Reply, Request, Usage, UserMessage


def open_model(name: str) -> PlainModel:
    """Return the model of this name; njrt calls this."""
    return PlainModel(name)


class PlainModel:
    """A model of an OpenAI-compatible server, by the text protocol."""

    protocol: Protocol = "text"

    def __init__(self, name: str) -> None:
        self.name = f"plain/{name}"
        self._model = name

    def ask(self, request: Request) -> Reply:
        """Send the texts of the conversation."""
        messages = [{"role": "system", "content": request.system}]
        for message in request.messages:
            assert isinstance(message, UserMessage | ModelMessage)
            role = "user" if isinstance(message, UserMessage) else "assistant"
            messages.append({"role": role, "content": message.text})
        body = json.dumps({"model": self._model, "messages": messages}).encode()
        url = f"{os.environ['PLAIN_SERVER']}/chat/completions"
        headers = {"Content-Type": "application/json"}
        with urlopen(HttpRequest(url, body, headers), timeout=60) as response:
            answer: dict[str, Any] = json.load(response)
        usage = Usage(answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"])
        return Reply(ModelMessage(answer["choices"][0]["message"]["content"]), usage=usage)

    async def aask(self, request: Request) -> Reply:
        """Do the same in a thread."""
        return await asyncio.to_thread(self.ask, request)
