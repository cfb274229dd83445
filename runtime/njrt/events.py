"""Events of running blocks, and listeners to them.

    Began -> (Asked -> Replied | Unanswered -> Performed*)* -> Ended

The driver calls one `Listener` with each event. The run's account, the trace file and the
OpenTelemetry spans are independent listeners. Events with a duration have `seconds`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from njrt.data.decisions import InterceptorDecision
from njrt.data.outcome import Outcome
from njrt.data.records import field, record
from njrt.effects import Effect, EffectResult, Refusal
from njrt.messages import Reply, Request

RunId = str
"""Identifies one run of one block; unique among all processes that may write to the same trace."""

Redact = Callable[[str], str]
"""Redacts the secrets of a block's variables in a text, such as the message of an exception."""


@record
class StateChange:
    """How the variables that a block sees changed since the previous event.

    `changes` has a line of text for each variable that is new or different, and None for each that
    is no longer bound. `digest` covers all variables, in more detail than the lines show. `printed`
    is the text that the block's code printed since the previous event.
    """

    changes: Mapping[str, str | None]
    digest: str
    printed: str = ""
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What has changed in objects that are still bound, by path, as in a `Touch` of `CHANGES`."""


@record
class RunEvent:
    """An event of a run, and when it happened, in seconds since the epoch."""

    run: RunId
    at: float


@record
class Began(RunEvent):
    """The start of a block. `parent` is the run of the block that called it from code, if any.

    `instruction` is empty for a question of `njrt.llm`. `state` has all bound variables; as in the
    other events, it is None unless a listener has the attribute `wants_states`.
    """

    place: str
    model: str = ""
    effects: str = ""
    parent: RunId | None = None
    instruction: str = ""
    state: StateChange | None = None


@record
class Asked(RunEvent):
    """The model is asked; `request.turn` is the number of the request in this run, from 1."""

    request: Request


@record
class Replied(RunEvent):
    """The model answered the request of this turn."""

    turn: int
    reply: Reply
    seconds: float


@record
class Unanswered(RunEvent):
    """The model, its server or a layer above it failed to answer the request of this turn."""

    turn: int
    error: BaseException
    seconds: float


@record
class Performed(RunEvent):
    """An effect was performed or refused, with this result; a reply without an effect is a refusal.

    `effect` is as the model requested it; `decisions` are the interceptors' decisions, in order. If
    an interceptor ended the block, the result is `Raised`.
    """

    turn: int
    effect: Effect | Refusal
    result: EffectResult
    seconds: float
    state: StateChange | None = None
    decisions: tuple[InterceptorDecision, ...] = ()
    redact: Redact | None = field(default=None, compare=False, repr=False)
    touches: int = 0
    """How many calls contained code has made of the program."""


@record
class Ended(RunEvent):
    """The block's run ended with an `Outcome`, with an error of the runtime, or by cancellation."""

    outcome: Outcome | BaseException
    seconds: float
    state: StateChange | None = None
    redact: Redact | None = field(default=None, compare=False, repr=False)
    warnings: tuple[str, ...] = ()
    """Signs that the block did nothing (`njrt.block.agent.block_warnings`)."""


@record
class Streamed(RunEvent):
    """Another part of this turn's reply has arrived: `text` is all of the reply so far.

    It is not an `Event`: only listeners with a method `receive_streamed` get it, and the model is
    asked to stream its replies only if there is such a listener.
    """

    turn: int
    text: str


Event = Began | Asked | Replied | Unanswered | Performed | Ended

Listener = Callable[[Event], None]
"""Called with all events, in order within a run; must be quick and thread-safe, and never raise."""


def wants_states(listener: Listener) -> bool:
    """Return whether the events for this listener have a `state`, which takes time to compute."""
    return bool(getattr(listener, "wants_states", False))


StreamListener = Callable[[Streamed], None]
"""Called as a reply comes in, in another thread than the run; must be quick and never raise."""


def find_stream_listener(listener: Listener) -> StreamListener | None:
    """Return the listener's method that gets replies as they come in, if it has one."""
    found: StreamListener | None = getattr(listener, "receive_streamed", None)
    return found


@record
class CombinedListener:
    """A listener that calls others in order."""

    listeners: tuple[Listener, ...]
    wants_states: bool
    receive_streamed: StreamListener | None = None

    def __call__(self, event: Event) -> None:
        for listener in self.listeners:
            listener(event)


def combine_listeners(*listeners: Listener) -> Listener:
    """Return one listener that calls all of `listeners` in order."""
    if len(listeners) == 1:
        return listeners[0]
    streamed = [found for found in map(find_stream_listener, listeners) if found is not None]

    def receive_streamed(event: Streamed) -> None:
        for receive in streamed:
            receive(event)

    wanted = any(map(wants_states, listeners))
    return CombinedListener(listeners, wanted, receive_streamed if streamed else None)
