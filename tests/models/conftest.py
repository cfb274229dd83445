"""What the tests of the models share: every exchange is tried from a thread, from an event loop, and streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec

import pytest

from njrt.messages import Reply, Request
from njrt.models.model import Model
from njrt.models.network import close_network

Ask = Callable[[Model, Request], Reply]


@pytest.fixture(params=["sync", "async", "streamed"])
def ask(request: pytest.FixtureRequest) -> Ask:
    if request.param == "sync":
        return lambda model, question: model.ask(question)
    if request.param == "streamed":
        return lambda model, question: model.ask(replace(question, on_text=lambda text: None))
    return lambda model, question: asyncio.run(model.aask(question))


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits of the SDKs before a retry."""
    for sdk in ("openai", "anthropic"):
        if find_spec(sdk):
            monkeypatch.setattr(f"{sdk}._base_client.INITIAL_RETRY_DELAY", 0.01)


@pytest.fixture(scope="module", autouse=True)
def _closed_connections() -> Iterator[None]:
    """Close the connections to the many servers of a module, before a process has too many files open."""
    yield
    close_network()
