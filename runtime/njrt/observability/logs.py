"""Blocks' events in Python's `logging`, under the name `njrt`; only warnings are shown by default.

    logging.getLogger("njrt").setLevel(logging.DEBUG)

    DEBUG njrt: mailbox.njpy:12 asks the model, turn 1
    DEBUG njrt: mailbox.njpy:12 completed after 2.31 s

`logging` is imported only for warnings, since a program that shows the log has already imported it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from njrt.events import Asked, Began, Ended, Event, Performed, Replied, RunId, Unanswered
from njrt.observability.accounts import format_error_line, name_ending, summarize_result

if TYPE_CHECKING:
    from logging import Logger

_places: dict[RunId, str] = {}


@cache
def get_logger() -> Logger:
    """Return the package's logger; until the program configures logging, Python prints warnings."""
    import logging

    return logging.getLogger("njrt")


def warn(message: str, *details: object) -> None:
    """Log a warning about something that does not stop the program."""
    get_logger().warning(message, *details)


def is_log_enabled() -> bool:
    """Return whether the program wants events in its log."""
    return "logging" in sys.modules and get_logger().isEnabledFor(10)


def log_event(event: Event) -> None:
    """Write each event to the log at level DEBUG, as a listener."""
    if isinstance(event, Began):
        _places[event.run] = event.place
    get_logger().debug("%s %s", _places.get(event.run, event.run), describe_event(event))
    if isinstance(event, Ended):
        _places.pop(event.run, None)


def describe_event(event: Event) -> str:
    """Describe an event in a few words."""
    match event:
        case Began(model=model, effects=effects):
            return (
                f"starts, with {model or 'no model yet'} and the effects of {effects or 'no set'}"
            )
        case Asked(request=request):
            return f"asks the model, turn {request.turn}"
        case Replied(reply=reply, seconds=seconds):
            usage = reply.usage
            return (
                f"is answered by the {reply.source} in {seconds:.2f} s, {usage.input} +"
                f" {usage.output} tokens"
            )
        case Unanswered(error=error):
            return f"is not answered: {format_error_line(error)}"
        case Performed(effect=effect, result=result):
            return f"{type(effect).__name__}: {summarize_result(result, event.redact)[:200]!r}"
        case Ended(outcome=outcome, seconds=seconds):
            name, message = name_ending(outcome, event.redact)
            return f"{name}{f' {message}' if message else ''} after {seconds:.2f} s"
