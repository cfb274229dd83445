"""The form `codeact`: Python as actions, in the style of CodeAct (Wang et al., arXiv 2402.01030), in our own words.

    "<execute>\\ncd(folder='document')\\n</execute>"    ->  UserMessage("<observation>\\n{...}\\n</observation>")
    "<solution>42</solution>"                         ->  TurnEnd(42)

The code runs like the code of natural blocks, under the same guard and the same time limit. Variables persist.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, assert_never

from pydantic import TypeAdapter

from njrt.effects import Refusal
from njrt.execution.execute import Failed, Jumped, Ran, execute, prepare
from njrt.messages import Message, ModelMessage, UserMessage
from njrt.models.scripted import Said
from njrt.scope.scope import Scope, make_scope
from spsbench.suites.conversation import Act, ConversationKind, TurnEnd, clip, end_turn
from spsbench.suites.task import Bench, SuiteTask, dump_value, read_value

CODE_SECONDS = 10.0
SYSTEM_PROMPT = """\
You serve a user by running Python. To act, reply with code between <execute> and </execute>. It runs in a session whose \
variables stay, and you are shown what it prints and the value of its last expression. {end}"""
FUNCTIONS = "\n\nDo it by calling these functions:\n"
END_RULES = {
    True: "When you know the answer, reply with nothing but the answer between <solution> and </solution>{form}.",
    False: "When nothing of the request is left to do, reply with <solution>done</solution>.",
}
"""Keyed by whether the task has a value."""
ACTION = re.compile(r"<execute>(.*?)(?:</execute>|\Z)", re.DOTALL)
SOLUTION = re.compile(r"<solution>(.*?)(?:</solution>|\Z)", re.DOTALL)
FENCED = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


def write_system(task: SuiteTask, bench: Bench) -> str:
    """Return the system prompt, with the functions and the form of the answer."""
    functions = [f"{each.signature}\n    {each.description.strip()}" for each in bench.tools]
    form = ""
    if task.result not in (None, str):
        schema = json.dumps(TypeAdapter(task.result).json_schema())
        form = f", as JSON of this schema: {schema}"
    prompt = SYSTEM_PROMPT.format(end=END_RULES[task.result is not None].format(form=form))
    return prompt + FUNCTIONS + "\n".join(functions) if functions else prompt


def make_act(task: SuiteTask, bench: Bench) -> Act:
    """Return the function that runs code; a reply with a solution, or with neither code nor solution, ends the turn.

    A solution beside code was written before the model saw the result. It counts only if the task has no value and
    the code ran, or if the model repeats the reply.
    """
    variables = {} if task.result is None else dict(bench.variables)
    variables |= {tool.name: tool.function for tool in bench.tools}
    names, namespace = "".join(f"{name}, " for name in variables), dict[str, Any]()
    exec(f"def enclose({names}):\n    return lambda: ({names})\n", namespace)
    scope = make_scope(namespace["enclose"](**variables), at=task.name)
    last = ""

    def act(message: ModelMessage) -> Message | TurnEnd:
        nonlocal last
        text, before, last = message.text, last, message.text
        solution, code = SOLUTION.search(text), find_action(text)
        if code is not None:
            observation, has_run = run_action(code, scope)
            is_end = text == before or (task.result is None and has_run)
            if not (solution and is_end):
                return UserMessage(f"<observation>\n{observation}\n</observation>")
        if solution is None or task.result is None:
            return end_turn(text, task)
        try:
            return TurnEnd(read_value(solution[1], task.result))
        except ValueError as error:
            return UserMessage(f"The solution does not fit: {error}")

    return act


def find_action(text: str) -> str | None:
    """Return the code in a reply: between the tags, or in a fence if the reply has no tags."""
    if tagged := ACTION.search(text):
        fenced = FENCED.search(tagged[1])
        return fenced[1] if fenced else tagged[1]
    fenced = None if SOLUTION.search(text) else FENCED.search(text)
    return fenced[1] if fenced else None


def run_action(code: str, scope: Scope) -> tuple[str, bool]:
    """Run a piece of code; return its output and value, or its error, and whether it ran to the end."""
    snippet = prepare(code.strip("\n"), scope)
    if isinstance(snippet, Refusal):
        return snippet.message, False
    has_run = True
    match execute(snippet, seconds=CODE_SECONDS):
        case Ran(value, printed):
            shown = "" if value is None else f"{value!r}"
        case Failed(shown, printed):
            has_run = False
        case Jumped(outcome, printed):
            shown = f"{outcome}"
        case never:
            assert_never(never)
    return clip(f"{printed}{shown}".strip() or "(nothing was printed)"), has_run


def script(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right code for a turn, and the reply that ends it."""
    calls = "\n".join(task.truth[turn])
    acts = [f"<execute>\n{calls}\n</execute>"] if calls else []
    if task.result is None:
        return [*acts, "<solution>done</solution>"]
    value = dump_value(task.answer, task.result)
    text = value if isinstance(value, str) else json.dumps(value)
    return [*acts, f"<solution>{text}</solution>"]


CODE_ACTIONS = ConversationKind(write_system, make_act, script)
