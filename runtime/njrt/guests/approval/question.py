"""Describe an effect for a person who decides about it.

    mail.njpy:12  Run, effect 2 of this run
      Sort <mail> into <:kind>.
        1  kind = classify(mail.subject)
      mail: Mail
      kind: None

Terminal control characters are escaped, so that code cannot change the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from njrt.data.decisions import PendingEffect
from njrt.effects import AskModel, Effect, Perform, Run, Touch
from njrt.values.effect_json import effect_to_json, format_call
from njrt.values.rendering.writer import clip, escape_unprintable

MAX_LINES = 4
"""Lines of an instruction that are shown."""
VALUE_CHARS = 80


def describe_question(pending: PendingEffect) -> str:
    """Return the place, the instruction, the effect, and the values that it may use or binds."""
    return "\n".join(map(escape_unprintable, _list_lines(pending)))


def _list_lines(pending: PendingEffect) -> Iterator[str]:
    effect, where = pending.effect, pending.place or "njrt.llm"
    kind = "call" if isinstance(effect, Touch) else "effect"
    yield f"{where}  {type(effect).__name__}, {kind} {pending.number} of this run"
    lines = pending.instruction.split("\n") if pending.instruction else []
    yield from (f"  {line}" for line in lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        yield f"  ... ({len(lines) - MAX_LINES} more lines)"
    code = re.split(r"\r\n|\n", format_effect(effect).expandtabs(4))
    yield from (f"  {number:3}  {line}" for number, line in enumerate(code, start=1))
    if not isinstance(effect, Touch):
        for text in pending.render_variables().values():
            yield f"  {clip(text.split(chr(10))[0], VALUE_CHARS)}"
    if isinstance(effect, Run) and effect.done:
        yield "  and ends the block"


def format_effect(effect: Effect) -> str:
    """Return an effect's code, its question or call, or its fields as JSON."""
    match effect:
        case Run(code):
            return code
        case AskModel(question):
            return question
        case Touch() | Perform():
            return format_call(effect_to_json(effect))
    fields = {name: value for name, value in effect_to_json(effect).items() if name != "kind"}
    return json.dumps(fields, ensure_ascii=False, indent=2)
