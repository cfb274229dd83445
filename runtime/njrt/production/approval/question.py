"""Describe an effect for a person who decides about it.

    mail.njpy:12  Run, effect 2 of this run
      Sort <mail> into <:kind>.
        1  kind = classify(mail.subject)
      reads    mail, classify
      binds    kind (now None)

Terminal control characters are escaped, so that code cannot change the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from njrt.decisions import PendingEffect
from njrt.effect_json import effect_to_json, format_call
from njrt.effects import (
    AskModel,
    BindOutputs,
    Effect,
    Perform,
    Run,
    Touch,
    get_effect_code,
)
from njrt.production.approval.code_names import find_code_names
from njrt.rendering.describe import render_value
from njrt.rendering.writer import clip, escape_unprintable

MAX_INSTRUCTION_LINES = 4
VALUE_CHARS = 60
MAX_WHOLE_CHARS = 100_000
"""How many characters of an argument are counted, to report how many are hidden."""


def describe_question(pending: PendingEffect) -> Iterator[str]:
    """Yield the lines before the code: the place, the effect, the instruction."""
    where = pending.place or "njrt.llm"
    kind = "call" if isinstance(pending.effect, Touch) else "effect"
    yield f"{where}  {type(pending.effect).__name__}, {kind} {pending.number} of this run"
    lines = pending.instruction.split("\n") if pending.instruction else []
    for line in lines[:MAX_INSTRUCTION_LINES]:
        yield f"  {escape_unprintable(line)}"
    if len(lines) > MAX_INSTRUCTION_LINES:
        yield f"  ... ({len(lines) - MAX_INSTRUCTION_LINES} more lines)"


def format_code(effect: Effect) -> tuple[str, str]:
    """Return an effect's code, or its fields as JSON, with the name of the language."""
    code = get_effect_code(effect)
    if code is not None:
        return escape_lines(code), "python"
    if isinstance(effect, AskModel):
        return escape_lines(effect.question), "text"
    if isinstance(effect, Touch | Perform):
        return escape_lines(format_call(effect_to_json(effect))), "python"
    fields = {name: value for name, value in effect_to_json(effect).items() if name != "kind"}
    return escape_lines(json.dumps(fields, ensure_ascii=False, indent=2)), "json"


def escape_lines(text: str) -> str:
    """Return a text with everything escaped that a terminal would act on, except line ends."""
    return "\n".join(map(escape_unprintable, re.split(r"\r\n|\n", text.expandtabs(4))))


def describe_names(pending: PendingEffect) -> Iterator[str]:
    """Yield the lines after the code: its names and possible changes."""
    effect = pending.effect
    now = {name: text.split("\n")[0] for name, text in pending.render_variables().items()}
    if isinstance(effect, BindOutputs):
        yield from _format_names("binds", (_format_now(name, now) for name in effect.values))
    elif isinstance(effect, Touch):
        for name, value in pending.arguments.items():
            if cut := _count_cut_chars(effect.arguments.get(name), value):
                yield f"  {escape_unprintable(name)} is cut: … {cut} characters more"
    code = get_effect_code(effect)
    if code is None:
        return
    try:
        names = find_code_names(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "  (this code cannot be parsed; it will be refused)"
        return
    shown = {
        "imports": names.imports,
        "reads": tuple(_format_now(name, now) for name in names.reads if name in now),
        "binds": tuple(_format_now(name, now) for name in names.binds),
        "changes": names.changes,
        "calls": names.calls,
        "jumps": names.jumps,
    }
    for title, listed in shown.items():
        yield from _format_names(title, listed)
    if isinstance(effect, Run) and effect.done:
        yield "  and ends the block"
    if isinstance(effect, Run) and not names.binds and not names.changes and names.calls:
        yield "  (calls may change objects)"


def _count_cut_chars(shown: Any, value: Any) -> int:
    """Return how many characters of a call's argument, including its items, are not shown."""
    if isinstance(shown, str) and type(value) is not str:
        is_cut = shown != (whole := render_value(value, MAX_WHOLE_CHARS))
        return max(len(whole) - len(shown), 0) if is_cut else 0
    if isinstance(shown, list) and isinstance(value, list | tuple):
        return sum(map(_count_cut_chars, shown, value))
    if isinstance(shown, dict) and isinstance(value, dict):
        return sum(_count_cut_chars(shown.get(name), part) for name, part in value.items())
    return 0


def _format_now(name: str, now: Mapping[str, str]) -> str:
    """Return a name with its current value, if it has one."""
    if name not in now:
        return name
    value = now[name].removeprefix(f"{name}: ")
    return f"{name} (now {clip(value, VALUE_CHARS)})"


def _format_names(title: str, names: Iterable[str]) -> Iterator[str]:
    if shown := ", ".join(names):
        yield f"  {title:8} {escape_unprintable(shown)}"
