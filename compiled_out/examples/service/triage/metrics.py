# compiled by njc 0.3.0 from service/triage/metrics.py (sha256 2a38c8c3552128c2, abi 1)
# do not edit: change service/triage/metrics.py and build again
"""Counts of requests and of calls of the model, in the text format of Prometheus.

triage_requests_total{status="200"} 981.0
triage_model_calls_total{result="replied"} 1004.0
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest

from njrt.events import Event, Replied, Unanswered

CLIENT_LEFT = 499
"""The status under which requests are counted whose client did not wait for the answer; nginx's number for it."""


class ServiceMetrics:
    """The metrics of one instance. `receive_event` is a listener for natural blocks."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "triage_requests", "Requests by status.", ["status"], registry=registry
        )
        self.seconds = Histogram(
            "triage_request_seconds", "Seconds from request to answer.", registry=registry
        )
        self.running = Gauge("triage_requests_running", "Requests that run now.", registry=registry)
        self._calls = Counter(
            "triage_model_calls", "Calls of the model by result.", ["result"], registry=registry
        )
        self._tokens = Counter(
            "triage_model_tokens", "Tokens of the model.", ["direction"], registry=registry
        )
        self._dollars = Counter("triage_model_usd", "Cost of the model in USD.", registry=registry)

    def receive_event(self, event: Event) -> None:
        """Count what natural blocks ask models."""
        match event:
            case Replied(reply=reply):
                self._calls.labels("replied").inc()
                self._tokens.labels("input").inc(reply.usage.input)
                self._tokens.labels("output").inc(reply.usage.output)
                self._dollars.inc(reply.usage.usd or 0.0)
            case Unanswered(error=error):
                self._calls.labels(type(error).__name__).inc()

    def write_text(self) -> bytes:
        """Write all metrics as Prometheus reads them."""
        return generate_latest(self._registry)


# njc lines 1=1 3:1 55=53 sha256 74fffbca54df6b74
