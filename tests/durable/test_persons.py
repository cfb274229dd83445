"""A person decides (docs/durable.md) about the effects of a workflow, from another process, and also after a crash."""

from __future__ import annotations

import asyncio
import math
import threading

import pytest
from asking import ask, wait_for_questions
from polling import replay

import njrt
from njrt import durable
from njrt.decisions import Abort, Accept, Decision, Edit, Reject
from njrt.models.scripted import Scripted
from waiting import HANG_SECONDS, wait_until


def answer_later(url: str, identity: str, decisions: list[Decision]) -> list[str]:
    """Return a person in a thread that decides about one question after the other; gives the texts that it was shown."""
    texts: list[str] = []

    def answer() -> None:
        seen: set[str] = set()
        for decision in decisions:
            question = wait_for_questions(url, identity, seen)[0]
            seen.add(question.topic)
            texts.append(question.text)
            durable.decide(url, question, decision)

    threading.Thread(target=answer).start()
    return texts


async def aask(seconds: float = 600) -> str:
    with njrt.using(model=Scripted(["3"]), intercept=durable.ask_person(seconds)):
        try:
            return str(await njrt.allm("How many?"))
        except njrt.NaturalError as error:
            return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("decision", "result"),
    [
        (Accept(), "3"),
        (Reject("no"), "PolicyError: "),
        (Abort(njrt.PolicyError("never")), "PolicyError: never"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_person_decides(workflows: str, decision: Decision, result: str, is_async: bool) -> None:
    @durable.workflow
    def settle() -> str:
        return ask()

    @durable.workflow
    async def asettle() -> str:
        return await aask()

    async def call() -> str:
        with durable.workflow_id(identity):
            return await asettle()

    identity = f"person {type(decision).__name__} {is_async}"
    texts = answer_later(workflows, identity, [decision])
    with durable.workflow_id(identity):
        got = asyncio.run(call()) if is_async else settle()
    assert got.startswith(result)
    assert "How many?" in texts[0]
    assert replay(identity, 99) == got
    assert [
        asked for asked in durable.list_questions(workflows) if asked.workflow_id == identity
    ] == []


def test_nobody_decides(workflows: str) -> None:
    @durable.workflow
    def settle() -> str:
        return ask(0.05)

    with durable.workflow_id("nobody"):
        assert "nobody decided within 0.05 seconds" in settle()


@pytest.mark.parametrize("decision", ["yes", Accept, None, Edit("total = 3")])  # type: ignore[arg-type]
def test_what_is_no_decision_is_not_sent(workflows: str, decision: Decision) -> None:
    question = durable.WorkflowQuestion("none", "decision 1", "shop.njpy:3", "")
    with pytest.raises(njrt.ConfigurationError, match=r"decide needs Accept\(\), Edit"):
        durable.decide(workflows, question, decision)


@pytest.mark.parametrize("seconds", ["5", -1, math.nan, None, True])
def test_seconds_for_a_decision_are_a_number(seconds: float) -> None:
    with pytest.raises(njrt.ConfigurationError, match="seconds must be a number from 0, not"):
        durable.ask_person(seconds)


def test_branches_wait_for_decisions_of_their_own(workflows: str) -> None:
    def ask_about(name: str) -> str:
        with njrt.using(model=Scripted([name]), intercept=durable.ask_person()):
            try:
                return str(njrt.llm(f"How many {name}?"))
            except njrt.PolicyError:
                return "refused"

    @durable.workflow
    def settle() -> list[str]:
        return durable.map(ask_about, ["apples", "pears"])

    def answer() -> None:
        decided: set[str] = set()
        while len(decided) < 2:
            for question in wait_for_questions(workflows, "two persons", decided):
                decision = Reject("no") if "apples" in question.text else Accept()
                durable.decide(workflows, question, decision)
                decided.add(question.topic)

    threading.Thread(target=answer).start()
    with durable.workflow_id("two persons"):
        assert settle() == ["refused", "pears"]


def test_equal_questions_are_shown_until_each_is_decided(workflows: str) -> None:
    @durable.workflow
    def settle() -> list[str]:
        return durable.map(lambda _: ask(HANG_SECONDS), range(2))

    left: list[list[str]] = []

    def answer() -> None:
        asked: list[durable.WorkflowQuestion] = []

        def list_topics() -> list[str]:
            asked[:] = wait_for_questions(workflows, "equal")
            return [question.topic for question in asked]

        wait_until(lambda: len(list_topics()) == 2, lambda: "no second question came")
        first, last = asked
        durable.decide(workflows, last, Accept())
        wait_until(lambda: len(list_topics()) == 1, lambda: "the decision was not stored")
        left.append([first.topic, *list_topics()])
        durable.decide(workflows, first, Accept())

    thread = threading.Thread(target=answer)
    thread.start()
    with durable.workflow_id("equal"):
        assert settle() == ["3", "3"]
    thread.join()
    assert left[0][0] == left[0][1]


def test_outside_of_workflows_it_is_refused() -> None:
    assert ask().startswith("ConfigurationError: durable.ask_person works in workflows only")
