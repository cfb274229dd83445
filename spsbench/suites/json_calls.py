"""The form `json`: JSON tool calls as defined by the vendors; a reply without a call ends the turn.

    ModelMessage("", (ToolCall("cd", {"folder": "document"}),))
        ->  ToolMessage((ToolResult("cd", '{"current_working_directory": "document"}'),))

A value is returned with an extra tool, `answer`.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from njrt.messages import (
    Message,
    ModelMessage,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    make_object_schema,
)
from njrt.models.scripted import Said, call
from spsbench.llm import make_strict_schema
from spsbench.suites.conversation import (
    DONE,
    Act,
    ConversationKind,
    TurnEnd,
    clip,
    end_turn,
    parse_call,
)
from spsbench.suites.task import Bench, SuiteTask, SuiteTool, dump_value, fit_value

ANSWER = "answer"
SYSTEM_PROMPT = """\
You serve a user by calling tools. Call one or several at a time; their results come back to you."""
END_RULES = {
    True: "When you know the answer, give it by calling `answer`.",
    False: "When nothing of the request is left to do, reply with one short sentence and no call.",
}
"""Keyed by whether the task has a value."""


def write_system(task: SuiteTask, bench: Bench) -> str:
    """Return the system prompt; the tools are in the request."""
    return f"{SYSTEM_PROMPT} {END_RULES[task.result is not None]}"


def make_tools(task: SuiteTask, bench: Bench) -> tuple[Tool, ...]:
    """Return the tools of a request, including the tool for the answer."""
    tools = tuple(Tool(each.name, each.description, each.parameters) for each in bench.tools)
    if task.result is None:
        return tools
    schema = TypeAdapter(task.result).json_schema()
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    parameters = make_strict_schema(definitions | make_object_schema({ANSWER: schema}))
    return (*tools, Tool(ANSWER, "Give the answer to the request.", parameters))


def make_act(task: SuiteTask, bench: Bench) -> Act:
    """Return the function that makes tool calls; a reply without one ends the turn."""
    tools = {tool.name: tool for tool in bench.tools}

    def act(message: ModelMessage) -> Message | TurnEnd:
        if not message.calls:
            return end_turn(message.text, task)
        results: list[ToolResult] = []
        for each in message.calls:
            result = perform_call(each, tools, task)
            if isinstance(result, TurnEnd):
                return result
            results.append(result)
        return ToolMessage(tuple(results))

    return act


def perform_call(
    each: ToolCall, tools: Mapping[str, SuiteTool], task: SuiteTask
) -> ToolResult | TurnEnd:
    """Make one tool call; a valid call of `answer` ends the turn."""
    arguments, problem = each.arguments, f"there is no tool `{each.name}`"
    if arguments is None:
        problem = "the arguments are not a JSON object"
    elif each.name == ANSWER and task.result is not None:
        try:
            return TurnEnd(fit_value(arguments.get(ANSWER), task.result))
        except ValueError as error:
            problem = str(error)
    elif each.name in tools:
        return ToolResult(each.id, each.name, call_tool(tools[each.name], arguments))
    return ToolResult(each.id, each.name, problem, failed=True)


def call_tool(tool: SuiteTool, arguments: Mapping[str, Any]) -> str:
    """Call a tool with arguments from JSON, omitting nulls; return the result or the error as text."""
    named = {name: value for name, value in arguments.items() if value is not None}
    positional: list[Any] = []
    parameters = inspect.signature(tool.function).parameters.values()
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        for each in parameters:
            given = named.pop(each.name, [])
            positional += given if isinstance(given, list) else [given]
    try:
        value = tool.function(*positional, **named)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return clip(value if isinstance(value, str) else json.dumps(value, default=str))


def script(task: SuiteTask, turn: int) -> Sequence[Said]:
    """Return the right tool calls for a turn, and the reply that ends it."""
    parsed = [parse_call(text) for text in task.truth[turn]]
    calls: list[Said] = [[call(name, **arguments) for name, arguments in parsed]] if parsed else []
    if task.result is None:
        return [*calls, DONE]
    return [*calls, call(ANSWER, **{ANSWER: dump_value(task.answer, task.result)})]


JSON_CALLS = ConversationKind(write_system, make_act, script, make_tools)
