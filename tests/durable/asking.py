"""A block that a person decides about, and the person's side of it."""

from __future__ import annotations

from collections.abc import Collection

import njrt
from njrt import durable
from njrt.models.scripted import Scripted
from waiting import wait_until


def wait_for_questions(
    url: str, identity: str, decided: Collection[str] = ()
) -> list[durable.WorkflowQuestion]:
    """Wait for questions of a workflow, without those on topics that have been decided."""
    found: list[durable.WorkflowQuestion] = []

    def look() -> bool:
        found[:] = [
            asked
            for asked in durable.list_questions(url)
            if asked.workflow_id == identity and asked.topic not in decided
        ]
        return bool(found)

    wait_until(look, lambda: "no question came")
    return found


def ask(seconds: float = 600) -> str:
    with njrt.using(model=Scripted(["3"]), intercept=durable.ask_person(seconds)):
        try:
            return str(njrt.llm("How many?"))
        except njrt.NaturalError as error:
            return f"{type(error).__name__}: {error}"
