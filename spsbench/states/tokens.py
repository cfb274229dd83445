"""States as the tokens of Code World Model, a model that predicts executions.

    <|begin_of_text|><|trace_context_start|>def f(n):  # << START_OF_TRACE
        return n + 1
    <|frame_sep|><|call_sep|>{"n": "3"}<|action_sep|>def f(n):<|frame_sep|>
    <|line_sep|>{"n": ".."}<|action_sep|>    return n + 1<|frame_sep|>
    <|return_sep|><|action_sep|>    return n + 1<|arg_sep|>"4"<|frame_sep|><|end_of_text|>

(Without line breaks between states.) The format is from "Trace Prediction" in PROMPTING_GUIDE.md of
github.com/facebookresearch/cwm. Where that leaves the format open: `..` is the value that a
variable had in the function's last state; duplicate lines end in a comment, `# line 7`; a return by
an exception has the value `null`; a return with a line that changed variables has all variables; a
cut trace has no end token.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping

from spsbench.results import InputError
from spsbench.states.trace import StateEvent, StateTrace, list_locals

BEGIN, END = "<|begin_of_text|>", "<|end_of_text|>"
CONTEXT, FRAME = "<|trace_context_start|>", "<|frame_sep|>"
ACTION, ARGUMENT = "<|action_sep|>", "<|arg_sep|>"
EVENT_TOKENS: Mapping[StateEvent, str] = {
    "call": "<|call_sep|>",
    "line": "<|line_sep|>",
    "return": "<|return_sep|>",
    "exception": "<|exception_sep|>",
}
UNCHANGED = ".."
START_COMMENT = "  # << START_OF_TRACE"

_TOKEN = re.compile(r"<\|\w+\|>")
_LINE_COMMENT = re.compile(r"  # line \d+$")


def write_tokens(trace: StateTrace) -> str:
    """Return a trace as tokens, without a trailing newline.

    Raises InputError if the program's text contains one of the tokens.
    """
    lines = _mark_lines(trace.source)
    context = list(lines)
    if trace.states:
        context[trace.states[0].line - 1] += START_COMMENT
    texts = [f"{BEGIN}{CONTEXT}" + "\n".join(context) + FRAME]
    for state, held in zip(trace.states, list_locals(trace.states), strict=True):
        text, action = EVENT_TOKENS[state.event], lines[state.line - 1]
        has_exit = state.event in ("return", "exception")
        if not has_exit or state.changed or state.removed:
            text += _to_json({name: state.changed.get(name, UNCHANGED) for name in held})
        text += f"{ACTION}{action}"
        if has_exit:
            text += f"{ARGUMENT}{_to_json(state.value)}"
        texts.append(text + FRAME)
    return "".join(texts) + ("" if trace.is_cut else END)


def _mark_lines(source: str) -> list[str]:
    """Return the lines of a program, made unique by comments."""
    if found := _TOKEN.search(source):
        number = source[: found.start()].count("\n") + 1
        raise InputError(
            f"line {number} of the program has the text {found[0]}, which is a token of this form; "
            "write the states as JSON"
        )
    lines = source.split("\n")
    counts = Counter(lines)
    # A line may also look as if it ends in one of our comments.
    return [
        f"{line}  # line {number}"
        if counts[line] > 1 or _LINE_COMMENT.search(line) or line.endswith(START_COMMENT)
        else line
        for number, line in enumerate(lines, 1)
    ]


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<|", "\\u003c|")
