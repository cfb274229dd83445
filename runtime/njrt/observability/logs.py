"""What happens in blocks, through Python's own `logging`, under the name `njrt`, quiet by default.

    logging.getLogger("njrt").setLevel(logging.DEBUG)

    DEBUG njrt: mailbox.njpy:12 asks the model, turn 1
    DEBUG njrt: mailbox.njpy:12 completed after 2.31 s

`logging` is only imported when there is something to warn of: a program that wants to see the log has
imported it itself.
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
    """The logger of this package, silent until the program gives it or the root logger a handler."""
    import logging

    ours = logging.getLogger("njrt")
    ours.addHandler(logging.NullHandler())
    return ours


def warn(message: str, *details: object) -> None:
    """Say what went wrong beside the program, which goes on."""
    get_logger().warning(message, *details)


def log_event(event: Event) -> None:
    """The listener that writes each event to the log, at level DEBUG."""
    if "logging" not in sys.modules or not get_logger().isEnabledFor(10):
        return
    if isinstance(event, Began):
        _places[event.run] = event.place
    get_logger().debug("%s %s", _places.get(event.run, event.run), describe_event(event))
    if isinstance(event, Ended):
        _places.pop(event.run, None)


def describe_event(event: Event) -> str:
    """An event in a few words."""
    match event:
        case Began(tried="ran"):
            return "is done by code"
        case Began(model=model, effects=effects):
            return (
                f"begins, with {model or 'no model yet'} and the effects of {effects or 'no set'}"
            )
        case Asked(request=request):
            return f"asks the model, turn {request.turn}"
        case Replied(reply=reply, seconds=seconds):
            usage = reply.usage
            return f"is answered by the {reply.source} in {seconds:.2f} s, {usage.input} + {usage.output} tokens"
        case Unanswered(error=error):
            return f"is not answered: {format_error_line(error)}"
        case Performed(effect=effect, result=result):
            return f"{type(effect).__name__}: {summarize_result(result)[:200]!r}"
        case Ended(outcome=outcome, seconds=seconds):
            name, trouble = name_ending(outcome)
            return f"{name}{f' {trouble}' if trouble else ''} after {seconds:.2f} s"
