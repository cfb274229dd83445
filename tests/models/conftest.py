"""What the tests of the models share: every exchange is tried from a thread and from an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from njrt.messages import Reply, Request
from njrt.models.model import Model

Ask = Callable[[Model, Request], Reply]


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    if request.param == "sync":
        return lambda model, question: model.ask(question)
    return lambda model, question: asyncio.run(model.aask(question))
