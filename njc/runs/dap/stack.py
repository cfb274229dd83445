"""The reason of a stop, its stack, and what each frame shows.

    choose_stop_reason("effect Run") "function breakpoint"
    describe_failure(steps)          {"exceptionId": "ValueError", "description": "ValueError: ...", ...}
    build_stack(timeline, step)      [EffectFrame("Run", code), BlockFrame("mail.njpy:12", run 2), BlockFrame(run 1)]
    list_outputs(instruction)        ("topic",), the names that the prompt binds
    describe_effect(step)            [("kind", "Run"), ("turn", "1"), ("tokens", "212 in, 34 out"), ...]

Only the frames of the run at the stop have live variables; those of the runs around it are shown as they were when
they called the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from njc.frontend.references import Reference, find_tags
from njc.runs.timeline.effect_text import (
    format_effect,
    format_field,
    format_messages,
    format_reply,
    name_effect,
)
from njc.runs.timeline.steps import Position, Step, Timeline


@dataclass(frozen=True, slots=True)
class EffectFrame:
    """An effect that is about to be carried out, or a line of its code."""

    name: str
    text: str
    line: int
    position: Position


@dataclass(frozen=True, slots=True)
class BlockFrame:
    """A natural block; `is_current` for that of the stop."""

    place: str
    kind: str
    """The kind of the step: at an exit the frame is at the last line of the prompt."""
    position: Position
    entry: Position
    is_current: bool


Frame = EffectFrame | BlockFrame


def build_stack(timeline: Timeline, step: Step) -> list[Frame]:
    """Return the frames from the innermost one on."""
    frames: list[Frame] = []
    if step.kind in ("effect", "line") and step.effect is not None:
        kind = name_effect(step.effect)
        frames.append(
            EffectFrame(kind, format_effect(step.effect), step.code_line or 1, step.position)
        )
    run: int | None = step.run
    while run is not None:
        steps = [
            other for other in timeline if other.run == run and other.position <= step.position
        ]
        last = step if run == step.run else steps[-1]
        frames.append(
            BlockFrame(last.place, last.kind, last.position, steps[0].position, run == step.run)
        )
        run = last.parent
    return frames


def list_outputs(instruction: str) -> tuple[str, ...]:
    """Return the variables that a prompt binds."""
    tags = find_tags(instruction)
    names = (tag.root for tag in tags if isinstance(tag, Reference) and tag.writes)
    return tuple(dict.fromkeys(names))


def describe_effect(step: Step) -> list[tuple[str, str]]:
    """Return what is known of an effect: what the model asks for, what it cost, and what came of it."""
    effect = step.effect or {}
    rows = [(name, format_field(value)) for name, value in effect.items()]
    rows += [("turn", str(step.turn)), ("model", step.model)]
    rows += [("tokens", f"{step.input_tokens} in, {step.output_tokens} out")] * bool(step.tokens)
    rows += [("result", step.result)] * step.is_done
    return rows


def describe_messages(step: Step) -> list[tuple[str, str]]:
    """Return the messages to the model that were new in this turn, and its reply."""
    rows = [
        (str(number), format_messages([message])) for number, message in enumerate(step.shown, 1)
    ]
    return rows + ([("reply", format_reply(step.reply))] if step.reply is not None else [])


def choose_stop_reason(reason: str, is_entry: bool = False) -> str:
    """Return the protocol's word for why the program is stopped."""
    kind = reason.partition(" ")[0]
    words = {"step": "entry" if is_entry else "step", "back": "step", "pause": "pause"}
    words |= {"variable": "data breakpoint", "effect": "function breakpoint"}
    words |= {"refusal": "exception", "limit": "exception", "type": "exception"}
    return words.get(kind, "breakpoint")


def describe_failure(steps: Sequence[Step]) -> Mapping[str, str]:
    """Return the response to `exceptionInfo`: the last refusal or error of these steps, else the last step."""
    failed = next((step for step in reversed(steps) if step.is_refused or step.error), steps[-1])
    text = failed.error or failed.result
    name = failed.error.partition(":")[0] if failed.error else "refusal"
    return {"exceptionId": name, "description": text, "breakMode": "always"}
