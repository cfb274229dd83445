"""The listeners of a process: the accounts, the log, OpenTelemetry, and a trace file if configured.

notify = make_listener(os.environ.get("NJC_TRACE"))
notify(Began(...))

remove = add_listener(show_status)      one more, for all blocks of this process
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from njrt.effects import Refusal
from njrt.events import (
    Asked,
    Began,
    Ended,
    Event,
    Listener,
    Performed,
    Replied,
    RunId,
    Streamed,
    StreamListener,
    Unanswered,
    combine_listeners,
    find_stream_listener,
    wants_states,
)
from njrt.messages import Reply, Request
from njrt.models.model import Ask
from njrt.observability.accounts import name_ending, record_event
from njrt.observability.logs import is_log_enabled, log_event, warn
from njrt.records import record

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_FINISH_REASONS = {"length": "length", "refusal": "content_filter"}


class Telemetry:
    """A listener that makes spans with `tracer`, by default the program's configured tracer."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer
        self._blocks: dict[RunId, Span] = {}
        self._calls: dict[RunId, Span] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Began):
            tracer = self._find_tracer()
            if tracer is not None:
                self._start_block_span(event, tracer)
            return
        block, tracer = self._blocks.get(event.run), self._find_tracer()
        if block is None or tracer is None:
            return
        match event:
            case Asked():
                self._start_call_span(event, tracer, block)
            case Replied() | Unanswered():
                self._end_call_span(event)
            case Performed():
                self._add_effect_span(event, tracer, block)
            case Ended():
                self._end_block_span(event, block)

    def _find_tracer(self) -> Tracer | None:
        if self._tracer is not None:
            return self._tracer
        api = sys.modules.get("opentelemetry.trace")
        return None if api is None else api.get_tracer("njrt")

    def _start_block_span(self, event: Began, tracer: Tracer) -> None:
        parent = self._blocks.get(event.parent) if event.parent else None
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": event.place,
            "njrt.run": event.run,
        }
        if event.model:  # empty if code ran the block
            provider, slash, name = event.model.partition("/")
            attributes["gen_ai.provider.name"] = provider if slash else ""
            attributes["gen_ai.request.model"] = name or event.model
            attributes["njrt.effects"] = event.effects
        self._blocks[event.run] = tracer.start_span(
            f"invoke_agent {event.place}",
            _make_context(parent),
            attributes=attributes,
            start_time=_to_nanoseconds(event.at),
        )

    def _start_call_span(self, event: Asked, tracer: Tracer, block: Span) -> None:
        from opentelemetry.trace import SpanKind

        request = event.request
        inherited: dict[str, Any] = getattr(block, "attributes", None) or {}
        model = str(inherited.get("gen_ai.request.model", ""))
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": str(inherited.get("gen_ai.provider.name", "")),
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": request.max_reply_tokens,
            "njrt.turn": request.turn,
        }
        if request.temperature is not None:
            attributes["gen_ai.request.temperature"] = request.temperature
        self._calls[event.run] = tracer.start_span(
            f"chat {model}".rstrip(),
            _make_context(block),
            kind=SpanKind.CLIENT,
            attributes=attributes,
            start_time=_to_nanoseconds(event.at),
        )

    def _end_call_span(self, event: Replied | Unanswered) -> None:
        span = self._calls.pop(event.run, None)
        if span is None:
            return
        if isinstance(event, Unanswered):
            _mark_failed(span, type(event.error).__name__)
        else:
            reply, usage = event.reply, event.reply.usage
            finish = "tool_calls" if reply.message.calls else "stop"
            span.set_attributes(
                {
                    "gen_ai.response.model": reply.model,
                    "gen_ai.response.finish_reasons": [_FINISH_REASONS.get(reply.stop, finish)],
                    "gen_ai.usage.input_tokens": usage.input,
                    "gen_ai.usage.output_tokens": usage.output,
                    "gen_ai.usage.cache_read.input_tokens": usage.cached,
                    "njrt.source": reply.source,
                }
            )
            if usage.usd is not None:
                span.set_attribute("njrt.usd", usage.usd)
        span.end(_to_nanoseconds(event.at))

    def _add_effect_span(self, event: Performed, tracer: Tracer, block: Span) -> None:
        name = type(event.effect).__name__.lower()
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "njrt.turn": event.turn,
        }
        began = _to_nanoseconds(event.at - event.seconds)
        span = tracer.start_span(
            f"execute_tool {name}", _make_context(block), attributes=attributes, start_time=began
        )
        if isinstance(event.result, Refusal):
            _mark_failed(span, "refusal")
        span.end(_to_nanoseconds(event.at))

    def _end_block_span(self, event: Ended, block: Span) -> None:
        del self._blocks[event.run]
        outcome, _ = name_ending(event.outcome)
        block.set_attribute("njrt.outcome", outcome)
        if isinstance(event.outcome, BaseException):
            _mark_failed(block, type(event.outcome).__name__)
        block.end(_to_nanoseconds(event.at))


def _make_context(parent: Span | None) -> Any:
    """Return the context of a span inside `parent`; None is the program's context."""
    from opentelemetry.trace import set_span_in_context

    return None if parent is None else set_span_in_context(parent)


def _mark_failed(span: Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def _to_nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)


EventT = TypeVar("EventT")

_telemetry = Telemetry()
_added: tuple[Listener, ...] = ()


def add_listener(listener: Listener) -> Callable[[], None]:
    """Add a listener to all later blocks of this process; return a function that removes it."""
    global _added
    _added = (*_added, SafeListener(listener))
    added = _added[-1]
    _make_listener.cache_clear()

    def remove() -> None:
        global _added
        _added = tuple(other for other in _added if other is not added)
        _make_listener.cache_clear()

    return remove


def make_added_listener() -> Listener | None:
    """Return the added listeners, for questions to a model outside a block; None without any."""
    return combine_listeners(*_added) if _added else None


def make_listener(trace: str | None = None) -> Listener:
    """Return the listener for a starting block, which also writes to the file `trace` if given.

    It includes the log if the program has set it up, and OpenTelemetry if it has imported it.
    """
    return _make_listener(trace, is_log_enabled(), "opentelemetry.trace" in sys.modules)


@lru_cache(maxsize=16)
def _make_listener(trace: str | None, has_log: bool, has_telemetry: bool) -> Listener:
    listeners: list[Listener] = [record_event]
    listeners += [SafeListener(log_event)] if has_log else []
    listeners += [SafeListener(_telemetry)] if has_telemetry else []
    if trace:
        from njrt.observability.trace import TraceFile

        listeners.append(SafeListener(TraceFile(trace)))
    return combine_listeners(*listeners, *_added)


class SafeListener:
    """A listener that never raises and warns of its first failure (state: whether it failed)."""

    def __init__(self, listener: Listener) -> None:
        self.wants_states = wants_states(listener)
        self._listener = listener
        self._has_failed = False
        streamed = find_stream_listener(listener)
        self.receive_streamed: StreamListener | None = streamed and partial(self._pass, streamed)

    def __call__(self, event: Event) -> None:
        self._pass(self._listener, event)

    def _pass(self, receive: Callable[[EventT], None], event: EventT) -> None:
        try:
            receive(event)
        except Exception as error:
            if not self._has_failed:
                self._has_failed = True
                warn("a listener to natural blocks failed: %s: %s", type(error).__name__, error)


@record
class Notified:
    """A layer that reports each request to the model, and its reply or error, to a listener."""

    run: RunId
    listener: Listener

    async def answer(self, request: Request, ask: Ask) -> Reply:
        began = time.monotonic()
        self.listener(Asked(self.run, time.time(), request))
        streamed = find_stream_listener(self.listener)

        def report_text(text: str) -> None:
            assert streamed is not None
            streamed(Streamed(self.run, time.time(), request.turn, text))

        try:
            reply = await ask(replace(request, on_text=report_text) if streamed else request)
        except BaseException as error:
            seconds = time.monotonic() - began
            self.listener(Unanswered(self.run, time.time(), request.turn, error, seconds))
            raise
        seconds = time.monotonic() - began
        self.listener(Replied(self.run, time.time(), request.turn, reply, seconds))
        return reply
