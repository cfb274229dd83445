"""Events of running blocks, and listeners to them.

    Began -> (Asked -> Replied | Unanswered -> Performed*)* -> Ended

The driver calls one `Listener` with each event. The account of the run, the trace file, the log and the
OpenTelemetry spans are independent listeners. Every event has the `run` it belongs to and the time `at` which it
happened, in seconds since the epoch; events with a duration have `seconds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from njrt.effects import Effect, EffectResult, Refusal
from njrt.messages import Reply, Request
from njrt.outcome import Outcome

RunId = str
"""Identifies one run of one block; unique among all processes that may write to the same trace."""


@dataclass(frozen=True, slots=True)
class Began:
    """A block began to run. `parent` is the run of the block whose code called it, if there is one.

    `tried` is the result of code that was tried first (mode `auto`): "ran" if it carried the block out, "unfit" if
    its guard did not hold, "raised" if it raised; in the last two cases the model is asked.
    """

    run: RunId
    at: float
    place: str
    model: str = ""
    effects: str = ""
    parent: RunId | None = None
    tried: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """The model is asked; `request.turn` is the number of the request in this run, from 1."""

    run: RunId
    at: float
    request: Request


@dataclass(frozen=True, slots=True)
class Replied:
    """The model answered the request of this turn."""

    run: RunId
    at: float
    turn: int
    reply: Reply
    seconds: float


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The model, its server or a layer above it failed to answer the request of this turn."""

    run: RunId
    at: float
    turn: int
    error: BaseException
    seconds: float


@dataclass(frozen=True, slots=True)
class Performed:
    """An effect was performed, or refused, with this result; a reply that is no effect counts as a refusal."""

    run: RunId
    at: float
    turn: int
    effect: Effect | Refusal
    result: EffectResult
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """The block's run is over: by an `Outcome`, by an error of the runtime, or by cancellation."""

    run: RunId
    at: float
    outcome: Outcome | BaseException
    seconds: float


Event = Began | Asked | Replied | Unanswered | Performed | Ended

Listener = Callable[[Event], None]
"""Called with every event of every run, in order within a run; must be quick and thread-safe, and never raise."""


def combine_listeners(*listeners: Listener) -> Listener:
    """One listener that calls all of `listeners`, in their order."""
    if len(listeners) == 1:
        return listeners[0]

    def notify(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return notify
