"""The forms of putting a task to a model, and the right replies in each.

FORMS["json"].play(task, bench, model, limits)     ->  the value, if one is asked for
make_right_model(FORMS["json"], task)              ->  a scripted model that knows the ground truth
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from njrt.models.model import Model
from njrt.models.scripted import Said, Scripted
from spsbench.script import SCRIPTED
from spsbench.suites.bfcl_prompt import BFCL_PROMPT
from spsbench.suites.blocks import play_answer, play_natural, script_answer, script_code
from spsbench.suites.code_actions import CODE_ACTIONS
from spsbench.suites.conversation import ConversationKind, play_conversation
from spsbench.suites.json_calls import JSON_CALLS
from spsbench.suites.results import FormName, SuiteLimits, SuiteName
from spsbench.suites.task import Bench, SuiteTask

Play = Callable[[SuiteTask, Bench, Model, SuiteLimits], Any]
Script = Callable[[SuiteTask, int], Sequence[Said]]


@dataclass(frozen=True, slots=True)
class Form:
    """One column of the tables."""

    name: FormName
    about: str
    suites: tuple[SuiteName, ...]
    play: Play
    script: Script
    """Return the right replies in a turn."""
    takes_tools: bool = True
    """Whether it can do tasks with tools."""


def make_conversation_form(
    name: FormName, about: str, suites: tuple[SuiteName, ...], kind: ConversationKind
) -> Form:
    """Return a form that is a conversation."""
    return Form(name, about, suites, partial(play_conversation, kind), kind.script)


ALL: tuple[SuiteName, ...] = ("bfcl", "m3", "mtp")
FORMS: Mapping[FormName, Form] = {
    form.name: form
    for form in (
        make_conversation_form("json", "JSON tool calls", ALL, JSON_CALLS),
        make_conversation_form("codeact", "Python as action, as CodeAct", ALL, CODE_ACTIONS),
        Form("natural", "a natural block, done by code", ALL, play_natural, script_code),
        Form(
            "answer",
            "a natural block, answered with data",
            ("mtp",),
            play_answer,
            script_answer,
            takes_tools=False,
        ),
        make_conversation_form("bfcl", "BFCL's own prompt", ("bfcl",), BFCL_PROMPT),
    )
}


def make_right_model(form: Form, task: SuiteTask) -> Model:
    """Return a model that replies with the ground truth."""
    turns = range(len(task.turns))
    replies = [reply for turn in turns for reply in form.script(task, turn)]
    return Scripted(replies, name=SCRIPTED, protocol="text")
