"""Effects in text replies of models without tool calls: fenced Python is code, fenced JSON a call.

    ```python                          ──parse_text_effects──>   Run(code='total = 3', done=True)
    total = 3
    ```
    {"name": "find", "arguments": {"text": "tea"}}          the call; several, or a list of them
    total = 3                                               Run(code='total = 3', done=True)

A fence counts only at the start of a line, and only if it does not repeat a fenced block from the
messages to the model: code in a mail that the reply quotes is not run. Not detected: a quotation
that changes the code.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from njrt.block.agent.tools import RUN, Operation, make_effect, parse_tool_call
from njrt.effects import Effect, Refusal, Run
from njrt.execution.syntax import parse_python
from njrt.messages import ANSWER_DECODER, ToolCall

FENCE = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<language>[\w+-]*+)(?P<rest>.*+)")
"""A line that opens or closes a fenced block; no part of it is matched twice (possessive)."""
BETWEEN_CALLS = re.compile(r"[\s,]*")
TRIPLE_QUOTED = re.compile(r"""(?P<quotes>"{3}|'{3})(?P<body>.*?)(?P=quotes)""", re.DOTALL)
LOOK_COMMENT = re.compile(r"\s*#\s*look\b", re.IGNORECASE)
PYTHON_TAGS = ("python", "py", "python3", "")
JSON_WORDS = {"True": "true", "False": "false", "None": "null"}
PYTHON_WORD = re.compile(rf"(?:{'|'.join(JSON_WORDS)})\b")


def parse_text_effects(
    text: str, operations: tuple[Operation, ...], shown: Sequence[str] = ()
) -> tuple[Effect | Refusal, ...]:
    """Read a plain-text reply: fenced Python is code, fenced JSON a call; bare code counts too.

    In the text protocol a block of code ends the instruction, unless its first line is `# look`.
    `shown` are the texts that the model was sent, the block's opening first.
    """
    text = textwrap.dedent(text)
    all_fenced, parts = split_at_fences(text)
    quotations = find_quotations([body for _, body in all_fenced], shown)
    fenced = [block for block in all_fenced if block[1] not in quotations]
    if quotations and not fenced:
        return (QUOTED_ONLY,)
    if calls := find_calls([body for language, body in fenced if language in ("json", "")]):
        return tuple(make_call_effect(call, operations) for call in calls)
    tagged = [body for language, body in fenced if language in PYTHON_TAGS[:3]]
    codes = tagged or [body for language, body in fenced if language in PYTHON_TAGS]
    if not codes and not fenced:
        if calls := next(filter(None, (find_calls([part]) for part in parts)), ()):
            return tuple(make_call_effect(call, operations) for call in calls)
        codes = [part.strip("\n") + "\n" for part in parts if is_code(part)][:1]
    if not codes and RUN not in operations:
        slips = (call for _, body in fenced for call in parse_text_calls(body))
        return tuple(slip for slip in slips if isinstance(slip, Refusal))[:1]
    return tuple(
        make_code_effect(code, operations, last=position == len(codes))
        for position, code in enumerate(codes, start=1)
    )


def split_at_fences(text: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Split a reply into its fenced blocks (language, body) and the parts between unpaired fences.

    A line with the same fence and nothing else closes a block. Takes time linear in the length of
    the text.
    """
    lines = text.split("\n")
    fences = {
        number: match
        for number, line in enumerate(lines)
        if (match := FENCE.fullmatch(line.rstrip(" \t\r")))
        and (match["language"] or not match["rest"])
    }
    closing: dict[int, int] = {}
    next_closing: dict[str, int] = {}
    for number, match in reversed(fences.items()):
        if match["fence"] in next_closing:
            closing[number] = next_closing[match["fence"]]
        if not match["language"] and not match["rest"]:
            next_closing[match["fence"]] = number
    blocks: list[tuple[str, str]] = []
    unpaired: list[int] = []
    end = -1
    for number, match in fences.items():
        if number <= end:
            continue
        if (end := closing.get(number, end)) > number:
            body = "".join(f"{line}\n" for line in lines[number + 1 : end])
            blocks.append((match["language"].lower(), body))
        elif not match["rest"].strip():
            unpaired.append(number)
    starts, ends = [0, *(number + 1 for number in unpaired)], [*unpaired, len(lines)]
    return blocks, ["\n".join(lines[first:last]) for first, last in zip(starts, ends, strict=True)]


QUOTED_ONLY = Refusal(
    "nothing was carried out: this block repeats one in the data that you were shown; write your"
    " own code"
)


def find_quotations(bodies: Sequence[str], shown: Sequence[str]) -> set[str]:
    """Return the fenced blocks of a reply that the model was also shown between fences.

    Values are shown as Python literals, so the comparison ignores whitespace, quotes and escapes.
    """
    if not any("```" in text or "~~~" in text for text in shown):
        return set()
    source = "\n".join(QUOTING.sub("", text) for text in shown)
    quotations = set()
    for body in bodies:
        core = QUOTING.sub("", body)
        start = source.find(core) if core else -1
        while start >= 0:
            if OPEN_FENCE.search(source[max(0, start - 40) : start]):
                quotations.add(body)
                break
            start = source.find(core, start + 1)
    return quotations


QUOTING = re.compile(r"\\[ntr]|[\s\\'\"|>]+")
OPEN_FENCE = re.compile(r"(?:`{3,}|~{3,})[\w+-]*$")


def make_code_effect(code: str, operations: tuple[Operation, ...], last: bool) -> Effect | Refusal:
    """Return the effect of a block of code in plain text.

    Behind an interface, it requests the effect whose only parameter is `code`.
    """
    if RUN in operations:
        return Run(code, done=last and not LOOK_COMMENT.match(code))
    for operation in operations:
        if [parameter.name for parameter in operation.parameters] == ["code"]:
            return make_effect(operation, {"code": code})
    names = ", ".join(operation.name for operation in operations)
    return Refusal(f"this needs a call, not code; the tools are {names}")


def find_calls(texts: Sequence[str]) -> tuple[ToolCall | Refusal, ...]:
    """Return the calls in some texts, including unreadable ones; nothing if all are unreadable."""
    found = tuple(call for text in texts for call in parse_text_calls(text))
    return found if any(isinstance(call, ToolCall) for call in found) else ()


def make_call_effect(
    call: ToolCall | Refusal, operations: tuple[Operation, ...]
) -> Effect | Refusal:
    """Return the effect of a call, or why the call could not be read."""
    return call if isinstance(call, Refusal) else parse_tool_call(call, operations)


def parse_text_calls(text: str) -> tuple[ToolCall | Refusal, ...]:
    """Return the tool calls that a text consists of, or none if it contains anything else.

    If one is not quite JSON, it and everything after it become one refusal. Small models like to
    put code into triple quotes, as in Python: such a string is accepted, and dedented.
    """
    text = text.strip()
    calls = parse_json_calls(text)
    if not any(isinstance(call, Refusal) for call in calls):
        return calls
    return parse_json_calls(
        # A triple-quoted string, without the indentation that its lines share.
        TRIPLE_QUOTED.sub(lambda it: json.dumps(textwrap.dedent(it["body"].strip("\n"))), text)
    )


def parse_json_calls(text: str) -> tuple[ToolCall | Refusal, ...]:
    """Return a stripped text's calls: `{"name": ..., "arguments": {...}} {...}`, or a list."""
    calls: list[ToolCall] = []
    position = 0
    while position < len(text):
        if text[position] not in "{[":
            return ()
        try:
            written, position = ANSWER_DECODER.raw_decode(text, position)
        except json.JSONDecodeError as slip:
            return (*calls, explain_json_error(slip))
        except (ValueError, RecursionError):
            return (*calls, Refusal("the call is not JSON"))
        for item in written if isinstance(written, list) else [written]:
            if (call := make_tool_call(item)) is None:
                return ()
            calls.append(call)
        if between := BETWEEN_CALLS.match(text, position):
            position = between.end()
    return tuple(calls)


def make_tool_call(written: Any) -> ToolCall | None:
    """Return a JSON value as a tool call, or None if it is not one."""
    if not isinstance(written, dict) or not isinstance(written.get("name"), str):
        return None
    arguments = written.get("arguments", written.get("parameters", {}))
    return ToolCall(
        id="",
        name=written["name"],
        arguments=arguments if isinstance(arguments, dict) else None,
        raw=json.dumps(arguments),
    )


def explain_json_error(slip: json.JSONDecodeError) -> Refusal:
    """Return a refusal that explains the mistake in an almost-JSON call, with the correct form."""
    if word := PYTHON_WORD.match(slip.doc, slip.pos):
        way = f"write {JSON_WORDS[word[0]]} for {word[0]}"
    else:
        way = (
            'write code as one string in double quotes, a line end in it as \\n and a quote as \\"'
        )
    return Refusal(f"the call is not JSON: {slip.msg}, in line {slip.lineno}; {way}")


def is_code(text: str) -> bool:
    """Return whether a whole reply is Python, not prose that happens to parse, such as `Done`."""
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)
        for statement in tree.body
    )
