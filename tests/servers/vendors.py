"""Both vendors under one face: their servers, their adapters, and a reply that says a text.

Tests that import this are skipped where one of the SDKs is not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import anthropic_server
import openai_server
from anthropic_server import AnthropicServer
from loopback import Answer
from njrt.models.anthropic import Anthropic
from njrt.models.openai import OpenAI
from njrt.models.remote import VendorModel
from openai_server import OpenAIServer

pytest.importorskip("openai")
pytest.importorskip("anthropic")


@dataclass(frozen=True)
class Vendor:
    name: str
    server: Any
    """The class of its server: `server(script)` replies from the script."""
    model: str
    key: str
    path: str
    """What follows the server's URL in the URL of the API."""
    make: Callable[..., VendorModel]
    say: Callable[[str], Answer]

    def connect(self, server: Any, model: str = "", **settings: Any) -> VendorModel:
        """Return the adapter of a running server; without `retries`, it asks once."""
        url = server.url + self.path
        given = {"vendor_url": url, "key": self.key, "retries": 0} | settings
        return self.make(model or self.model, **given)


def _say_in_message(text: str) -> Answer:
    return anthropic_server.message(anthropic_server.text(text))


VENDORS = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            "openai",
            OpenAIServer,
            "gpt-4.1",
            openai_server.KEY,
            "/v1",
            OpenAI,
            openai_server.says,
        ),
        Vendor(
            "anthropic",
            AnthropicServer,
            "claude-sonnet-4-6",
            anthropic_server.KEY,
            "",
            Anthropic,
            _say_in_message,
        ),
    )
}
