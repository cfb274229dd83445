"""The form `bfcl`: BFCL's own prompt, for tasks of BFCL; the package `bfcl-eval` has its text.

    "[cd(folder='document'), ls()]"    ->  UserMessage("<tool_response>\\n...\\n</tool_response>")
    "I am done."                       ->  TurnEnd(), as there: it is no list of calls

The results are sent as its handler for Qwen's models sends them.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Sequence

from njrt.messages import Message, ModelMessage, UserMessage
from njrt.models.scripted import Said
from spsbench.suites.conversation import DONE, Act, ConversationKind, TurnEnd, parse_call
from spsbench.suites.json_calls import call_tool
from spsbench.suites.task import Bench, SuiteTask


def write_system(task: SuiteTask, bench: Bench) -> str:
    """Return the prompt of the package: plain text, Python calls, functions as JSON."""
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
    """Return the function that makes the calls of a list."""
    tools = {tool.name: tool for tool in bench.tools}

    def act(message: ModelMessage) -> Message | TurnEnd:
        try:
            calls = [parse_call(text) for text in split_calls(message.text)]
        except (SyntaxError, ValueError):
            return TurnEnd()
        results = [
            call_tool(tools[name], arguments) if name in tools else f"there is no function {name}"
            for name, arguments in calls
        ]
        responses = (f"<tool_response>\n{result}\n</tool_response>" for result in results)
        return UserMessage("\n".join(responses)) if calls else TurnEnd()

    return act


def split_calls(text: str) -> list[str]:
    """Return the calls of a reply, a list with or without its brackets and a fence; SyntaxError for other text."""
    text = text.strip("`\n ")
    tree = ast.parse(text if text.startswith("[") else f"[{text}]", mode="eval").body
    return [ast.unparse(each) for each in tree.elts] if isinstance(tree, ast.List) else []


def script(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right list of calls of a turn, and its end."""
    calls = ", ".join(task.truth[turn])
    return [*([f"[{calls}]"] if calls else []), DONE]


BFCL_PROMPT = ConversationKind(write_system, make_act, script)
