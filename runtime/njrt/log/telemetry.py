"""Blocks as OpenTelemetry spans, with the attributes of its conventions for generative AI.

    invoke_agent shop.njpy:3            a block, inside the program's own span
        chat gpt-4.1                    a request to the model
        execute_tool run                an effect

The package opentelemetry-api is imported once the program has imported it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from njrt.effects import Refusal
from njrt.events import Asked, Began, Ended, Event, Performed, Replied, RunId, Unanswered
from njrt.messages import Reply
from njrt.values.rendering.endings import name_ending

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_FINISH_REASONS = {"length": "length", "refusal": "content_filter"}


class Telemetry:
    """A listener that makes spans (state: the open ones), by default with the program's tracer."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        from opentelemetry import trace

        self._tracer = tracer or trace.get_tracer("njrt")
        self._blocks: dict[RunId, Span] = {}
        self._calls: dict[RunId, Span] = {}

    def __call__(self, event: Event) -> None:
        block, call = self._blocks.get(event.run), self._calls.get(event.run)
        match event:
            case Began(place=place, parent=parent):
                around = self._blocks.get(parent or "")
                attributes = describe_model(event)
                attributes |= {"gen_ai.agent.name": place, "njrt.run": event.run}
                self._blocks[event.run] = self._start(
                    f"invoke_agent {place}", around, event.at, attributes
                )
            case Asked(request=request) if block is not None:
                shared: dict[str, Any] = getattr(block, "attributes", None) or {}
                names = ("gen_ai.provider.name", "gen_ai.request.model")
                attributes = {name: shared.get(name, "") for name in names}
                attributes["gen_ai.request.max_tokens"] = request.max_reply_tokens
                attributes["njrt.turn"] = request.turn
                if request.temperature is not None:
                    attributes["gen_ai.request.temperature"] = request.temperature
                name = f"chat {attributes[names[1]]}"
                span = self._start(name, block, event.at, attributes, "CLIENT")
                self._calls[event.run] = span
            case Replied(reply=reply) if call is not None:
                call.set_attributes(describe_reply(reply))
                _end(self._calls.pop(event.run), event.at)
            case Unanswered(error=error) if call is not None:
                _end(self._calls.pop(event.run), event.at, type(error).__name__)
            case Performed(effect=effect, seconds=seconds) if block is not None:
                name = type(effect).__name__.lower()
                attributes = {"gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
                attributes["njrt.turn"] = event.turn
                span = self._start(f"execute_tool {name}", block, event.at - seconds, attributes)
                _end(span, event.at, "refusal" if isinstance(event.result, Refusal) else "")
            case Ended(outcome=outcome) if block is not None:
                has_failed = isinstance(outcome, BaseException)
                block.set_attribute("njrt.data.outcome", name_ending(outcome)[0])
                _end(self._blocks.pop(event.run), event.at, type(outcome).__name__ * has_failed)

    def _start(
        self,
        name: str,
        around: Span | None,
        at: float,
        attributes: dict[str, Any],
        kind: str = "INTERNAL",
    ) -> Span:
        """Start a span inside `around`, or inside the program's own."""
        from opentelemetry import trace

        context = None if around is None else trace.set_span_in_context(around)
        attributes["gen_ai.operation.name"] = name.partition(" ")[0]
        began, kinds = int(at * 1e9), trace.SpanKind
        return self._tracer.start_span(name, context, kinds[kind], attributes, start_time=began)


def describe_model(event: Began) -> dict[str, Any]:
    """Return the attributes of a block's model; none if code runs the block."""
    *provider, name = event.model.split("/", 1)
    model = {"gen_ai.provider.name": "".join(provider), "gen_ai.request.model": name}
    return model | {"njrt.effects": event.effects} if name else {}


def describe_reply(reply: Reply) -> dict[str, Any]:
    """Return the attributes of a reply."""
    usage, finish = reply.usage, "tool_calls" if reply.message.calls else "stop"
    found = {
        "gen_ai.response.model": reply.model,
        "gen_ai.response.finish_reasons": [_FINISH_REASONS.get(reply.stop, finish)],
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cached,
        "njrt.source": reply.source,
    }
    return found if usage.usd is None else {**found, "njrt.usd": usage.usd}


def _end(span: Span, at: float, error: str = "") -> None:
    if error:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end(int(at * 1e9))
