"""Let a person decide about a workflow's effects, even days later and after crashes.

with njrt.using(intercept=durable.ask_person()):       in the workflow: each effect waits for its decision
    ...

for question in durable.list_questions(url):           anywhere: a web page, a command
    durable.decide(url, question, njrt.Accept())
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from njrt.decisions import Abort, Decision, Edit, PendingEffect
from njrt.durable.calls import format_decision, hash_effect, read_decision
from njrt.durable.effects import (
    UNFINISHED,
    DurableInterceptor,
    WorkflowSteps,
    explaining_database,
    find_steps,
    read_step,
    write_step,
)
from njrt.effect_json import decision_from_json, decision_to_json
from njrt.effects import Effect
from njrt.errors import ConfigurationError, PolicyError
from njrt.models.model import run_without_waiting
from njrt.production.approval.question import describe_names, describe_question, format_code
from njrt.records import record

if TYPE_CHECKING:
    from dbos import DBOSClient

WEEK = 7 * 24 * 3600.0
DECIDED = "decision a person"


@record
class WorkflowQuestion:
    """An effect in a workflow that waits for a decision."""

    workflow_id: str
    topic: str
    """Different for each question of a workflow."""
    place: str
    text: str
    """The text for the person: the place, the instruction, the code, and its names."""


@record
class PersonApproval(DurableInterceptor):
    """The interceptor that `ask_person` makes."""

    seconds: float

    def __call__(self, pending: PendingEffect) -> Decision | Awaitable[Decision]:
        steps = find_steps()
        if steps is None:
            raise ConfigurationError(
                "durable.ask_person works in workflows only; use njrt.approve elsewhere"
            )
        decision = self._decide(pending, steps)
        return decision if pending.is_async else run_without_waiting(decision)

    async def _decide(self, pending: PendingEffect, steps: WorkflowSteps) -> Decision:
        from dbos import DBOS

        async def ask() -> str:
            return format_question(pending)

        async def store() -> str:
            return format_decision(pending, decision, topic=topic)

        name, is_async = f"question {pending.place or 'njrt.llm'}", pending.is_async
        asked = await steps.run(name, ask, is_async)
        topic = read_step(asked, hash_effect(pending), f"{pending.place}: an effect")["topic"]
        with steps.under_way(name):
            receive: Any = DBOS.recv_async if is_async else DBOS.recv
            received = receive(topic, timeout_seconds=self.seconds)
            answer = await received if is_async else received
        message = f"{pending.place}: nobody decided within {self.seconds:g} seconds"
        decision = decision_from_json(json.loads(answer)) if answer else Abort(PolicyError(message))
        return read_decision(pending, await steps.run(DECIDED, store, is_async))


def ask_person(seconds: float = WEEK) -> PersonApproval:
    """Return an interceptor for workflows that waits for a call of `decide`, even if the process restarts.

    A block's effects wait one after the other. Without a decision, the block ends with `PolicyError` after `seconds`.
    """
    if type(seconds) not in (int, float) or not seconds >= 0:
        raise ConfigurationError(f"ask_person: seconds must be a number from 0, not {seconds!r}")
    return PersonApproval(seconds)


def list_questions(url: str) -> list[WorkflowQuestion]:
    """Return the effects that wait for a decision, in all unfinished workflows of a database. Starts no workflow."""
    with open_client(url) as client:
        pending = client.list_workflows(status=UNFINISHED, load_input=False, load_output=False)
        return [it for each in pending for it in find_questions(client, each.workflow_id)]


def decide(url: str, question: WorkflowQuestion, decision: Decision) -> None:
    """Send a decision to a waiting effect. The first decision counts."""
    is_decision: bool = isinstance(decision, Decision)
    if not is_decision or (isinstance(decision, Edit) and not isinstance(decision.effect, Effect)):
        raise ConfigurationError(
            f"durable.decide needs Accept(), Edit(effect), Reject(...), Abort(...) or Pause(), not {decision!r}"
        )
    from dbos import WorkflowSerializationFormat

    with open_client(url) as client:
        client.send(
            question.workflow_id,
            json.dumps(decision_to_json(decision)),
            question.topic,
            serialization_type=WorkflowSerializationFormat.PORTABLE,
        )


@contextmanager
def open_client(url: str) -> Iterator[DBOSClient]:
    """Yield a client for a database's workflows, for use outside their program."""
    with explaining_database(url) as place:
        from dbos import DBOSClient, DBOSPortableJSONSerializer

        if place.get_backend_name() == "sqlite":
            Path(place.database or "").stat()  # a client must not create the file
        client = DBOSClient(system_database_url=url, serializer=DBOSPortableJSONSerializer())
        try:
            yield client
        finally:
            client.destroy()


def find_questions(client: DBOSClient, workflow_id: str) -> Iterator[WorkflowQuestion]:
    """Yield a workflow's undecided questions."""
    steps = client.list_workflow_steps(workflow_id)
    outputs = [(step["function_name"], step["output"]) for step in steps if step["output"]]
    # Decisions that older versions stored have no topic.
    decisions = [json.loads(text) for name, text in outputs if name == DECIDED]
    decided = [decision.get("topic", decision["key"]) for decision in decisions]
    for name, text in outputs:
        if not name.startswith("question "):
            continue
        stored = json.loads(text)
        if stored["topic"] in decided:
            continue
        if stored["key"] in decided:
            decided.remove(stored["key"])
        else:
            yield WorkflowQuestion(workflow_id, stored["topic"], stored["place"], stored["text"])


def format_question(pending: PendingEffect) -> str:
    """Return a question's stored form."""
    from dbos import DBOS

    code = format_code(pending.effect)[0].split("\n")
    lines = [*describe_question(pending), *(f"  {line}" for line in code), *describe_names(pending)]
    topic, text = f"decision {DBOS.step_id}", "\n".join(lines)
    return write_step(hash_effect(pending), topic=topic, place=pending.place, text=text)
