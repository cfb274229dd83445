"""Workflows that survive a crash: natural blocks inside DBOS workflows. Requires the extra `durable`.

@durable.effect
def pay(account: str, cents: int) -> str: ...            done at most once

@durable.workflow
def settle(order: dict) -> int: ...                       natural blocks; their model calls are steps

durable.launch("sqlite:///workflows.sqlite3")             and interrupted workflows continue
"""

from njrt.durable.approval import WorkflowQuestion, ask_person, decide, list_questions
from njrt.durable.branches import gather, map
from njrt.durable.effects import (
    EffectInDoubtError,
    VersionWarning,
    WorkflowVersionError,
    effect,
    effect_key,
)
from njrt.durable.workflows import launch, shut_down, take_over, workflow, workflow_id
from njrt.values.failures import StepFailedError

__all__ = [
    "EffectInDoubtError", "StepFailedError", "VersionWarning", "WorkflowQuestion", "WorkflowVersionError",
    "ask_person", "decide", "effect", "effect_key", "gather", "launch", "list_questions", "map", "shut_down",
    "take_over", "workflow", "workflow_id",
]  # fmt: skip
