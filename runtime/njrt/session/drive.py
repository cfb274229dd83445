"""The loop that drives a conversation: it asks the model and the interceptors, and runs the code.

drive_conversation(session, conversation, is_async=False)       Request <-> Reply, Snippet <-> Execution, ...
    Completed()                                                 the outcome of the block
"""

from __future__ import annotations

import types
from collections.abc import Generator
from typing import Any

from njrt.agent.conversation import Conversation, ConversationStep, StepResult
from njrt.decisions import PendingEffect
from njrt.execution.execute import Execution, Snippet, aexecute
from njrt.messages import Request
from njrt.outcome import Outcome
from njrt.session.interception import intercept
from njrt.session.session import Session


async def drive_conversation(
    session: Session, conversation: Conversation, is_async: bool
) -> Outcome:
    """Answer everything that the conversation asks for, until it returns the block's outcome."""
    result: Any = None
    failure: BaseException | None = None
    try:
        while True:
            try:
                if failure is None:
                    step = conversation.send(result)
                else:
                    step = conversation.throw(failure)
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            try:
                result, failure = await answer_step(step, session, is_async), None
            except BaseException as error:
                failure = error
    finally:
        del result, failure  # they would keep this frame alive, and with it the program's values


async def answer_step(step: ConversationStep, session: Session, is_async: bool) -> StepResult:
    """Ask the model or the interceptors, or run the code; without `is_async`, `run` runs it, and nothing waits."""
    match step:
        case Request():
            return await session.model.aask(step) if is_async else session.model.ask(step)
        case PendingEffect():
            return await intercept(step, session.interceptors, session.record)
        case _ if is_async:
            return await aexecute(step, seconds=session.get_code_seconds())
        case _:
            return await request_execution(step)


@types.coroutine
def request_execution(snippet: Snippet) -> Generator[Snippet, Execution, Execution]:
    """Suspend the coroutine until the driver has run the code."""
    return (yield snippet)
