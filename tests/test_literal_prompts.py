"""docs/reference/authority.md shows the literal prompts: they are what a model is sent."""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

import njrt
from njrt.testing import Request, Scripted, UserMessage, run

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "authority.md").read_text()


def load_example(name: str) -> ModuleType:
    file = ROOT / "compiled_out" / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ask_for_answer() -> Request:
    model = Scripted([{"team": "shipping"}])
    with njrt.using(model=model):
        ticket = "My parcel has not arrived; it was sent two weeks ago."
        asyncio.run(load_example("tickets").route(ticket))
    return model.requests[0]


def ask_for_code() -> Request:
    reply = run("self.folders[topic].append(mail)", done=True)
    model = Scripted([{"topic": "bills"}, reply])
    with njrt.using(model=model):
        load_example("mailbox").Mailbox(["Please pay 84.20 EUR."]).triage()
    return model.requests[1]


@pytest.mark.parametrize(
    "request_", [ask_for_answer(), ask_for_code()], ids=["answer", "code by tool call"]
)
def test_the_page_shows_the_literal_prompt(request_: Request) -> None:
    (opening,) = request_.messages
    assert isinstance(opening, UserMessage)
    for text in (request_.system.rstrip("\n"), opening.text):
        assert f"text\n{text}\n```" in PAGE


def test_no_code_is_offered_where_none_is_needed() -> None:
    request = ask_for_answer()
    assert request.tools == ()
    assert "python" not in request.system.replace("Python program", "").lower()
