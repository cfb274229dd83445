"""How blocks and effects ended, on one line.

name_ending(Raised(KeyError("x")))      ("raised", "KeyError('x')")
summarize_result(Answer("7"))           "7"
"""

from __future__ import annotations

from njrt.data.outcome import Outcome, Raised
from njrt.effects import Answer, EffectResult, NeedsCode, Refusal
from njrt.errors import NaturalError
from njrt.events import Redact
from njrt.values.rendering.one_line import write_brief
from njrt.values.rendering.redaction import redact_shapes
from njrt.values.rendering.writer import clip

_MAX_RESULT_CHARS = 4000


def name_ending(
    outcome: Outcome | BaseException, redact: Redact | None = None
) -> tuple[str, str | None]:
    """Return the name of a run's ending, and the exception that it raised or failed with."""
    if isinstance(outcome, Raised):
        return "raised", format_error_line(outcome.exception, redact)
    if isinstance(outcome, BaseException):
        return "failed", format_error_line(outcome, redact)
    return type(outcome).__name__.lower(), None


def format_error_line(error: BaseException, redact: Redact | None = None) -> str:
    """Return an exception on one line, redacted; never raises."""
    is_ours = isinstance(error, NaturalError) and bool(error.args)
    line = f"{type(error).__name__}: {error.args[0]}" if is_ours else write_brief(error, 400)
    return (redact or redact_shapes)(line)


def summarize_result(result: EffectResult, redact: Redact | None = None) -> str:
    """Return the answer to the model, or the name of the outcome."""
    match result:
        case NeedsCode(reason):
            return f"needs code: {clip(reason, _MAX_RESULT_CHARS)}"
        case Answer(text) | Refusal(text):
            return clip(text, _MAX_RESULT_CHARS)
        case _:
            name, error = name_ending(result, redact)
            return f"{name}: {error}" if error else name
