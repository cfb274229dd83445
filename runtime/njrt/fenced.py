"""The effects in a plain-text reply: fenced Python is code to run, fenced JSON is a call.

    ```python                          ──effects_in_text──>   Run(code='total = 3', done=True)
    total = 3
    ```

    {"name": "eval", "arguments": {"expr": "total"}}        Eval('total')
    total = 3                                               Run(code='total = 3', done=True)

For models that call no tools, small ones mostly, and for replies of others that forgot to.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from typing import Any

from njrt.effects import Effect, Exec, Refusal, Run
from njrt.messages import ToolCall
from njrt.options import EffectSet
from njrt.syntax import parse
from njrt.tools import EXEC, OPERATIONS, effect_of

FENCE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
LONE_FENCE = re.compile(r"^[ \t]*(?:```+|~~~+)[ \t]*[\w+-]*[ \t]*$", re.MULTILINE)
TRIPLED = re.compile(r"""(?P<quotes>"{3}|'{3})(?P<body>.*?)(?P=quotes)""", re.DOTALL)
LOOK = re.compile(r"\s*#\s*look\b", re.IGNORECASE)
PYTHON = ("python", "py", "python3", "")


def effects_in_text(text: str, effects: EffectSet) -> tuple[Effect | Refusal, ...]:
    """Read a plain-text reply: fenced Python is code to run, fenced JSON is a call, bare code counts too.

    In the text protocol a block of code ends the instruction, unless its first line is `# look`.
    """
    fenced = [(match["language"].lower(), match["body"]) for match in FENCE.finditer(text + "\n")]
    calls = [
        call for language, body in fenced if language in ("json", "") and (call := call_in(body))
    ]
    if calls:
        return tuple(effect_of(call, effects) for call in calls)
    tagged = [body for language, body in fenced if language in PYTHON[:3]]
    codes = tagged or [body for language, body in fenced if language in PYTHON]
    if not codes and not fenced:
        parts = LONE_FENCE.split(text)
        if call := next(filter(None, map(call_in, parts)), None):
            return (effect_of(call, effects),)
        codes = [part.strip("\n") + "\n" for part in parts if is_code(part)][:1]
    if not codes and effects != "direct":
        return tuple(filter(None, (slip_in(body) for _, body in fenced)))[:1]
    return tuple(
        code_effect(code, effects, last=position == len(codes))
        for position, code in enumerate(codes, start=1)
    )


def code_effect(code: str, effects: EffectSet, last: bool) -> Effect | Refusal:
    """The effect of a block of code in plain text: `run` in the direct set, else `exec` where there is one."""
    if effects == "direct":
        return Run(code, done=last and not LOOK.match(code))
    if EXEC in OPERATIONS[effects]:
        return Exec(code)
    return Refusal(
        f"this needs a call, not code; the tools are {', '.join(o.name for o in OPERATIONS[effects])}"
    )


def call_in(text: str) -> ToolCall | None:
    """A tool call written out as JSON: `{"name": ..., "arguments": {...}}`."""
    try:
        written = object_in(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        return None
    arguments = written.get("arguments", written.get("parameters", {}))
    return ToolCall(
        id="",
        name=written["name"],
        arguments=arguments if isinstance(arguments, dict) else None,
        raw=json.dumps(arguments),
    )


def slip_in(text: str) -> Refusal | None:
    """What is wrong with an object that is not quite JSON; None for what is JSON, or nothing like it."""
    try:
        object_in(text)
    except json.JSONDecodeError as slip:
        return Refusal(
            f"the call is not JSON: {slip.msg}, in line {slip.lineno}; write code as one string in double "
            'quotes, a line end in it as \\n and a quote as \\"'
        )
    except (ValueError, RecursionError):
        return Refusal("the call is not JSON")
    return None


def object_in(text: str) -> Any:
    """The JSON object that is all of `text`, else None; an error where there is one that cannot be read.

    Small models like to put code into three quotes, as Python would: such a string is taken as it stands.
    """
    text = text.strip()
    if not text.startswith("{"):
        return None
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        return json.loads(TRIPLED.sub(as_json_string, text), strict=False)


def as_json_string(tripled: re.Match[str]) -> str:
    """A string of three quotes as JSON writes it, without the indentation that its lines share."""
    return json.dumps(textwrap.dedent(tripled["body"].strip("\n")))


def is_code(text: str) -> bool:
    """Whether a whole reply is Python rather than prose that happens to parse, such as `Done`."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)
        for statement in tree.body
    )
