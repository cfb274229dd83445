"""Effects, messages and replies from traces as text; an effect's text can be edited and parsed.

format_effect({"kind": "Run", "code": "x = 1", "done": True})      "x = 1"
read_effect_text({"kind": "Run", ...}, "x = 2")                    {"kind": "Run", "code": "x = 2"}
format_effect({"kind": "BindOutputs", "values": {"team": "a"}})    'team = "a"'
summarize_variables({"n": "int = 3", "x": None})                   "n=3, del x", for table rows
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from njc.debug.timeline.channel import RunControlError
from njrt.data.message_json import format_attached
from njrt.values.dataclass_json import InvalidJsonError
from njrt.values.effect_json import effect_from_json, format_call
from njrt.values.questions import LETTERS


def format_effect(effect: Mapping[str, Any]) -> str:
    """Return an effect as lines of text, in Python if possible."""
    match effect:
        case {"code": code}:
            return format_field(code)
        case {"message": text, "kind": "Refusal"}:
            return format_field(text)
        case {"kind": "Touch" | "Perform", "function": str(), "arguments": Mapping()}:
            return format_call(effect)
        case {"kind": "BindOutputs", "values": Mapping() as fields}:
            pass
        case _:
            fields = {name: value for name, value in effect.items() if name != "kind"}
    return "\n".join(f"{name} = {_to_json(value)}" for name, value in fields.items())


def format_messages(messages: Iterable[Any]) -> str:
    """Return messages to the model as text."""
    parts = []
    for message in messages:
        match message:
            case {"user": lines, **others}:
                parts.append(format_field(lines))
                attached = others.get("attached")
                files = attached if isinstance(attached, list) else []
                parts += [format_attached(file) for file in files if isinstance(file, Mapping)]
            case {"results": [*results]}:
                for result in results:
                    match result:
                        case {"name": name, "text": text}:
                            parts.append(f"{format_field(name)}: {format_field(text)}")
                        case _:
                            parts.append(format_field(result))
            case _:
                parts.append(format_field(message))
    return "\n\n".join(parts)


def format_reply(reply: Mapping[str, Any]) -> str:
    """Return the text, the tool calls and the probabilities of a reply."""
    parts = [format_field(reply["text"])] if reply.get("text") else []
    if isinstance(found := reply.get("probabilities"), list):
        named = [it for it in zip(LETTERS, found, strict=False) if isinstance(it[1], float | int)]
        parts.append(", ".join(f"{letter} {it:.3f}" for letter, it in named))
    calls = reply.get("calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            parts.append(format_field(call))
            continue
        rest = {name: value for name, value in call.items() if name not in ("id", "name", "code")}
        arguments = rest.get("arguments") or rest.get("raw") or ""
        written = arguments if isinstance(arguments, str) else _to_json(arguments)
        head = " ".join(filter(None, (format_field(call.get("name", "")), written)))
        parts.append("\n".join(filter(None, (head, format_field(call.get("code", ""))))))
    stop = reply.get("stop")
    return "\n\n".join(parts) + (f"\n\n(stopped: {format_field(stop)})" if stop else "")


_UNPARSABLE = (SyntaxError, ValueError, MemoryError, RecursionError)


def read_effect_text(effect: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Parse the text of `format_effect`; raises RunControlError if it has another form."""
    changed = dict(effect) | _read_fields(effect, text)
    if unknown := changed.keys() - effect.keys():
        raise RunControlError(f"not an effect: there is no field `{min(unknown)}`")
    try:
        effect_from_json(changed)
    except InvalidJsonError as error:
        raise RunControlError(f"not an effect: {error}") from None
    return changed


def _read_fields(effect: Mapping[str, Any], text: str) -> dict[str, Any]:
    if "code" in effect:
        try:
            ast.parse(text)
        except _UNPARSABLE as error:
            raise RunControlError(f"not an effect: {error}") from None
        return {"code": text}
    match effect.get("kind"):
        case "BindOutputs":
            return {"values": dict(_read_lines(text))}
        case "Touch" | "Perform":
            return _read_call(text)
        case _:
            return dict(_read_lines(text))


def _read_call(text: str) -> dict[str, Any]:
    """Return the function and arguments of a call as written by `format_call`."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        arguments = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except _UNPARSABLE:
        raise RunControlError(
            "not an effect: write a call with arguments by name, such as `pay(cents=5)`"
        ) from None
    return {"function": ast.unparse(call.func), "arguments": arguments}


def _read_lines(text: str) -> Iterator[tuple[str, Any]]:
    for line in filter(str.strip, text.split("\n")):
        name, _, value = line.partition("=")
        try:
            yield name.strip(), json.loads(value)
        except ValueError:
            problem = f"`{line.strip()}` does not have the form NAME = JSON"
            raise RunControlError(problem) from None


def format_field(value: Any) -> str:
    """Return a text or list of lines as text, and any other value as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return _to_json(value)


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


MAX_VALUE_CHARS = 24
MAX_ROW_CHARS = 60
NO_CHANGE = "nothing"
"""The text for a run or an effect without changes."""


def summarize_variables(texts: Mapping[str, str | None], known: Collection[str] = ()) -> str:
    """Return variables on one line; a variable that is no longer bound has None.

    A long value of a variable in `known`, which was bound before, is omitted: its start seldom
    shows the change.
    """
    parts = []
    for name, text in texts.items():
        value = " ".join((text or "").partition(" = ")[2].split())
        if text is None:
            parts.append(f"del {name}")
        elif not value or (name in known and len(value) > MAX_VALUE_CHARS):
            parts.append(name)
        else:
            parts.append(f"{name}={_cut(value, MAX_VALUE_CHARS)}")
    return _cut(", ".join(parts), MAX_ROW_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
