"""What happens while natural blocks run, as small frozen events, told once to whoever listens.

    Began -> (Asked -> Replied | Unanswered -> Performed*)* -> Ended

The driver tells each event to one `Listener`. The account of the run, the trace file, the log and the
OpenTelemetry spans are listeners and know nothing of one another. Every event carries the `run` it
belongs to and the time `at` which it happened, in seconds since the epoch; what lasts has `seconds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from njrt.effects import Effect, EffectResult, Refusal
from njrt.messages import Reply, Request
from njrt.outcome import Outcome

RunId = str
"""Names one run of one block, unique among all processes that may write to the same trace."""


@dataclass(frozen=True, slots=True)
class Began:
    """A block began to run. `parent` is the run of the block whose code called it, if there is one.

    `tried` says how code fared that was tried first: "ran", and there is nothing else to this run, or
    "unfit" or "raised", and this is the live block behind it.
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
    """The model is asked; `request.turn` says for the how-manieth time in this run."""

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
    """An effect was served, or refused, with this result; what was no effect at all stands as a refusal."""

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
"""Takes every event of every run, in order within a run; must be quick, thread-safe, and never raise."""


def combine_listeners(*listeners: Listener) -> Listener:
    """Make one listener that tells all of `listeners`, in their order."""
    if len(listeners) == 1:
        return listeners[0]

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell
