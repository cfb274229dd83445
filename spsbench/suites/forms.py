"""The forms of giving a task to a model, and the right replies in each.

FORMS["json"].play(task, bench, model, limits)     ->  the value, if the task has one
make_right_model(FORMS["json"], task)              ->  a scripted model that knows the ground truth
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import njrt
from njc.compiler import compile_source
from njc.frontend.source import SourceFile
from njrt.messages import Message, ModelMessage, UserMessage
from njrt.models.model import Model
from njrt.models.scripted import Said, Scripted
from njrt.options import EffectSet
from spsbench.script import SCRIPTED
from spsbench.suite import make_program_module
from spsbench.suites import values
from spsbench.suites.code_actions import CODE_ACTIONS, CODE_SECONDS
from spsbench.suites.conversation import (
    DONE,
    MAX_EQUAL,
    Act,
    ConversationKind,
    TurnEnd,
    parse_call,
)
from spsbench.suites.json_calls import JSON_CALLS, call_tool
from spsbench.suites.task import (
    SUITES,
    Bench,
    FormName,
    SuiteLimits,
    SuiteName,
    SuiteTask,
    dump_value,
)

SHOWN_CHARS = 6000
"""The maximum of characters shown per variable, enough for an object with all its methods."""


def play_block(
    effects: EffectSet, task: SuiteTask, bench: Bench, model: Model, limits: SuiteLimits
) -> Any:
    """Run the block once in each turn, and return the value of the last run."""
    earlier: tuple[tuple[str, Any], ...] = ()
    value = None
    with njrt.using(
        model=model,
        effects=effects,
        cache=False,
        max_calls=limits.calls,
        max_seconds=limits.seconds,
        max_call_seconds=limits.seconds,
        max_repeats=MAX_EQUAL,
        max_code_seconds=CODE_SECONDS,
        max_reply_tokens=limits.reply_tokens,
        show_chars=SHOWN_CHARS,
        redact=False,  # tasks contain their users' passwords, which all other forms see
    ):
        for turn in task.turns:
            bench.log.start_turn()
            block = task.block + (task.later_block if earlier else "")
            shared: dict[str, Any] = {"request": turn, "earlier": earlier}
            named = {name: value for name, value in shared.items() if f"<{name}>" in block}
            named |= bench.variables
            value = load_program(block, tuple(named)).serve(**named)
            earlier = (*earlier, (turn, value))
    return value


@functools.cache
def load_program(block: str, names: tuple[str, ...]) -> ModuleType:
    """Compile the program for a block, and return it as a module."""
    source = write_program(block, names)
    compilation = compile_source(SourceFile("suite.njpy", source.encode()))
    assert compilation.output is not None, compilation.diagnostics
    return make_program_module("spsbench.suites.program", compilation.output, "suite.njpy")


def write_program(block: str, names: tuple[str, ...]) -> str:
    """Return the program for a block: a function that takes its variables and returns its output."""
    types = [name for name in vars(values) if re.search(rf"<:\w+:.*\b{name}\b", block)]
    imports = f"from {values.__name__} import {', '.join(types)}\n\n\n" if types else ""
    output = re.findall(r"<:(\w+)", block)[-1]
    return (
        f"{imports}def serve({', '.join(names)}):\n"
        f'    """natural\n    {block}\n    """\n    return {output}\n'
    )


def write_system(task: SuiteTask, bench: Bench) -> str:
    """Return the package's own prompt: plain text, Python calls, functions as JSON."""
    texts = importlib.import_module("bfcl_eval.constants.default_prompts")
    style = texts.PROMPT_STYLE_TEMPLATES["classic"]
    functions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in bench.tools
    ]
    prompt: str = texts.PROMPT_TEMPLATE_MAPPING["plaintext"].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=style["tool_call_no_tag"].format(
            output_format=texts.OUTPUT_FORMAT_MAPPING["python"],
            param_types=texts.PARAM_TYPE_MAPPING["python"],
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=style["available_tools"].format(
            format="json", functions=json.dumps(functions, indent=4)
        ),
    )
    return prompt


def make_act(task: SuiteTask, bench: Bench) -> Act:
    """Return the function that makes the calls in a list."""
    tools = {tool.name: tool for tool in bench.tools}

    def act(message: ModelMessage) -> Message | TurnEnd:
        try:
            text = message.text.strip("`\n ")  # a list with or without its brackets and a fence
            tree = ast.parse(text if text.startswith("[") else f"[{text}]", mode="eval").body
            parts = tree.elts if isinstance(tree, ast.List) else []
            calls = [parse_call(ast.unparse(part)) for part in parts]
        except (SyntaxError, ValueError):
            return TurnEnd()
        results = [
            call_tool(tools[name], arguments) if name in tools else f"there is no function {name}"
            for name, arguments in calls
        ]
        responses = (f"<tool_response>\n{result}\n</tool_response>" for result in results)
        return UserMessage("\n".join(responses)) if calls else TurnEnd()

    return act


def script(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right list of calls for a turn, and the reply that ends it."""
    calls = ", ".join(task.truth[turn])
    return [*([f"[{calls}]"] if calls else []), DONE]


BFCL_PROMPT = ConversationKind(write_system, make_act, script)


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
    """Returns the right replies in a turn."""
    takes_tools: bool = True
    """Whether the form supports tasks with tools."""


FORMS: Mapping[FormName, Form] = {
    form.name: form
    for form in (
        Form("json", "JSON tool calls", SUITES, JSON_CALLS.play, JSON_CALLS.script),
        Form(
            "codeact",
            "Python as action, as CodeAct",
            SUITES,
            CODE_ACTIONS.play,
            CODE_ACTIONS.script,
        ),
        Form(
            "natural",
            "a natural block, done by code",
            SUITES,
            partial(play_block, "direct"),
            lambda task, turn: [f"```python\n{task.natural_truth[turn]}\n```"],
        ),
        Form(
            "answer",
            "a natural block, answered with data",
            ("mtp",),
            partial(play_block, "answer"),
            lambda task, turn: [{"answer": dump_value(task.answer, task.result)}],
            takes_tools=False,
        ),
        Form("bfcl", "BFCL's own prompt", ("bfcl",), BFCL_PROMPT.play, BFCL_PROMPT.script),
    )
}


def make_right_model(form: Form, task: SuiteTask) -> Model:
    """Return a model that replies with the ground truth."""
    turns = range(len(task.turns))
    replies = [reply for turn in turns for reply in form.script(task, turn)]
    return Scripted(replies, name=SCRIPTED, protocol="text")
