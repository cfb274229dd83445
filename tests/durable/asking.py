"""A block that a person decides about, and the person's side of it."""

from __future__ import annotations

import time

import njrt
from njrt import durable
from njrt.models.scripted import Scripted

WAIT_SECONDS = 30


def wait_for_questions(url: str, identity: str) -> list[durable.WorkflowQuestion]:
    stops = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < stops:
        found = [asked for asked in durable.list_questions(url) if asked.workflow_id == identity]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("no question came")


def ask(seconds: float = 60) -> str:
    with njrt.using(model=Scripted(["3"]), intercept=durable.ask_person(seconds)):
        try:
            return str(njrt.llm("How many?"))
        except njrt.NaturalError as error:
            return f"{type(error).__name__}: {error}"
