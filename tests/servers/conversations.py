"""Requests to ask servers with, from the plainest to the ones that adapters get wrong."""

from __future__ import annotations

from dataclasses import replace

from njrt.messages import (
    ModelMessage,
    Request,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    make_object_schema,
)

RUN = Tool(
    "run",
    "Run Python code in the scope of the program; with done, end.",
    make_object_schema({"code": {"type": "string"}, "done": {"type": "boolean"}}),
)
PLAIN = Request("Be brief.", (UserMessage("hello"),), timeout=60)
TOOLS = replace(PLAIN, tools=(RUN,))


def call(id: str, code: str = "x = 1") -> ToolCall:
    return ToolCall(
        id, "run", {"code": code, "done": False}, f'{{"code": "{code}", "done": false}}'
    )


def result(id: str, text: str = "ok", failed: bool = False) -> ToolResult:
    return ToolResult(id, "run", text, failed)


def conversation(*messages: UserMessage | ModelMessage | ToolMessage) -> Request:
    return replace(TOOLS, messages=(UserMessage("hello"), *messages))


CONVERSATIONS = {
    "plain": PLAIN,
    "no system": replace(PLAIN, system=""),
    "tools": TOOLS,
    "one call": conversation(ModelMessage("", (call("a"),)), ToolMessage((result("a"),))),
    "two calls": conversation(
        ModelMessage("both", (call("a"), call("b"))),
        ToolMessage((result("a"), result("b", "NameError", failed=True))),
    ),
    "a result without text": conversation(
        ModelMessage("", (call("a"),)), ToolMessage((result("a", ""),))
    ),
    "text after results": conversation(
        ModelMessage("", (call("a"),)), ToolMessage((result("a"),)), UserMessage("go on")
    ),
    "malformed arguments": conversation(
        ModelMessage("", (ToolCall("a", "run", None, '{"code": '),)),
        ToolMessage((result("a", "not a JSON object", failed=True),)),
    ),
    "an unknown tool": conversation(
        ModelMessage("", (ToolCall("a", "rm", {}, "{}"),)),
        ToolMessage((ToolResult("a", "rm", "there is no such tool", failed=True),)),
    ),
    "plain text where a call was wanted": conversation(
        ModelMessage("I would rather talk."), UserMessage("call the tool `run`")
    ),
    "an empty reply": conversation(ModelMessage(""), UserMessage("say something")),
    "a blank reply": conversation(ModelMessage(" \n"), UserMessage("say something")),
    "beyond ASCII": conversation(
        ModelMessage("ça va ☃", (call("a", "s = 'é'"),)), ToolMessage((result("a", "😀"),))
    ),
}
