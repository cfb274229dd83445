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
from collections.abc import Iterator
from typing import Any

from njrt.decisions import PendingEffect
from njrt.effect_json import effect_to_json, format_call
from njrt.effects import AskModel, BindOutputs, Effect, Perform, Run, Touch, get_effect_code
from njrt.execution.snippet_analysis import parse_snippet
from njrt.execution.symbols import find_names
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


def format_code(effect: Effect) -> str:
    """Return an effect's code, its question or call, or its fields as JSON."""
    text = get_effect_code(effect)
    if isinstance(effect, AskModel):
        text = effect.question
    elif isinstance(effect, Touch | Perform):
        text = format_call(effect_to_json(effect))
    elif text is None:
        fields = {name: value for name, value in effect_to_json(effect).items() if name != "kind"}
        text = json.dumps(fields, ensure_ascii=False, indent=2)
    return "\n".join(map(escape_unprintable, re.split(r"\r\n|\n", text.expandtabs(4))))


def describe_names(pending: PendingEffect) -> Iterator[str]:
    """Yield the lines after the code: its variables, and how much of a call is not shown."""
    effect = pending.effect
    if isinstance(effect, BindOutputs):
        yield from _format_names("binds", [*effect.values], pending)
    elif isinstance(effect, Touch):
        for name, value in pending.arguments.items():
            if cut := _count_cut_chars(effect.arguments.get(name), value):
                yield f"  {escape_unprintable(name)} is cut: … {cut} characters more"
    if (code := get_effect_code(effect)) is None:
        return
    try:
        names = find_names(parse_snippet(code), None)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield "  (this code cannot be parsed; it will be refused)"
        return
    variables = pending.render_variables()
    yield from _format_names("reads", [it for it in names.read if it in variables], pending)
    yield from _format_names("binds", [*names.bound], pending)
    if isinstance(effect, Run) and effect.done:
        yield "  and ends the block"


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


def _format_names(title: str, names: list[str], pending: PendingEffect) -> Iterator[str]:
    """Yield a line with names and their present values, if there are any."""
    now = pending.render_variables()
    shown = []
    for name in names:
        value = now.get(name, "").split("\n")[0].removeprefix(f"{name}: ")
        shown.append(f"{name} (now {clip(value, VALUE_CHARS)})" if name in now else name)
    if shown:
        yield f"  {title:8} {escape_unprintable(', '.join(shown))}"
