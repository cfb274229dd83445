"""Send a request to a model's server, retry it if it fails, and record the attempts that may be billed.

    HTTP 429, wait, HTTP 200                  one call: error responses are not billed
    no connection, wait, HTTP 200             one call: nothing was sent
    lost connection, wait, HTTP 200           two calls: the first may be billed
    a stream that breaks off, HTTP 200        two calls

Requests are retried as in the vendors' SDKs, which do not report their retries. Before a request that may have been
billed is sent again, the limits and the budgets are checked (`Request.before_call`). Not detected: retries by
PydanticAI's providers.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TypeVar

from njrt.errors import LimitError, ModelError, NaturalError, ServerError
from njrt.messages import CallAttempt, Reply, Request, Usage, add_usage

T = TypeVar("T")

FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
LONGEST_WANTED_WAIT = 120.0
"""Seconds before a retry: before the first, at most, and the longest `Retry-After` that is respected."""

UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError"})
"""Names of httpx exceptions that are raised before a request is sent."""


class RetryingSender:
    """Sends the requests of one exchange (state: the attempts without a reply that may be billed)."""

    def __init__(
        self,
        model: str,
        request: Request,
        get_failures: Callable[[], tuple[type[Exception], ...]],
        retries: int = 0,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._model = model
        self._before_call = request.before_call
        self._get_failures = get_failures
        self._retries = retries
        self._wait = first_wait
        self._lost: list[CallAttempt] = []
        self.unusable: Usage | None = None
        """Usage in a response that is not a reply; None if it has no usage."""
        self._began: float | None = None

    async def run(self, send: Callable[[], Awaitable[T]], *, is_billed: bool = True) -> T:
        """Return the result of `send`, called again after transient failures; `is_billed` if it asks a model."""
        while True:
            if is_billed:
                self._began = time.monotonic()
            try:
                return await send()
            except self._get_failures() as failure:
                if self._retries < 1 or not may_pass(failure):
                    raise
                self._retries -= 1
                wanted = read_retry_after(read_headers(failure), time.time())
                is_lost = is_billed and get_status(failure) is None and was_sent(failure)
                if is_lost and not await self._count_lost():
                    raise
            if wanted is None or not 0 < wanted <= LONGEST_WANTED_WAIT:
                wanted = self._wait * (1 - random.random() / 4)
            await asyncio.sleep(wanted)
            self._wait = min(2 * self._wait, LONGEST_WAIT)

    async def count_broken_stream(self, model: str, reason: str) -> None:
        """Count a stream that broke off as a lost call; raise ServerError if no other call may follow."""
        if not await self._count_lost():
            raise ServerError(
                f"the stream of {model} broke off ({reason}), and the limits allow no other call"
            )

    async def _count_lost(self) -> bool:
        """Record the last request as lost; return whether the limits and budgets allow another."""
        self._lost.append(self._make_attempt("ServerError", Usage(usd=0.0)))
        self._began = None
        if self._before_call is not None:
            # This may write to a store, which must not block the event loop.
            try:
                await asyncio.to_thread(self._before_call, Usage(usd=0.0))
            except LimitError:
                return False
        return True

    def finish(self, reply: Reply) -> Reply:
        """Return the reply with all its attempts, if there were several."""
        if not self._lost:
            return reply
        attempts = (*self._lost, self._make_attempt("used", reply.usage))
        used = add_usage([attempt.usage for attempt in attempts])
        return replace(reply, usage=used, attempts=attempts)

    def fail(self, error: NaturalError) -> None:
        """Add the attempts so far to an error, if there were several or one that has been counted."""
        attempts = list(self._lost)
        if self._began is not None and isinstance(error, ModelError):
            used = self.unusable or Usage(usd=0.0)
            attempts.append(self._make_attempt(type(error).__name__, used))
        if self._lost or self.unusable is not None:
            error.attempts = tuple(attempts)

    def _make_attempt(self, outcome: str, used: Usage) -> CallAttempt:
        now = time.monotonic()
        return CallAttempt(self._model, outcome, used, round(now - (self._began or now), 6))


def may_pass(failure: Exception) -> bool:
    """Return whether a request may be sent again after this exception, which its SDK documents."""
    headers, status = read_headers(failure), get_status(failure)
    if status is None:
        return "Connection" in type(failure).__name__ or "Timeout" in type(failure).__name__
    wanted = read_retry_after(headers, time.time())
    if wanted is not None and wanted > LONGEST_WANTED_WAIT:
        return False
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        return should_retry == "true"
    return status in (408, 409, 429) or status >= 500


def was_sent(failure: BaseException) -> bool:
    """Return whether a request may have reached its server, judging by the exception and its causes."""
    return not any(type(cause).__name__ in UNSENT for cause in list_causes(failure))


def list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its chain of causes."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__


def get_status(failure: Exception) -> int | None:
    """Return the HTTP status of an SDK's exception, if it has one."""
    status = getattr(failure, "status_code", None)
    return status if isinstance(status, int) else None


def read_headers(failure: Exception) -> Mapping[str, str]:
    """Return the headers of the response behind an SDK's exception; empty without a response."""
    return getattr(getattr(failure, "response", None), "headers", None) or {}


def read_retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds in a server's `Retry-After`; None if it is missing or invalid."""
    for name, parts in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            seconds = float(headers.get(name) or "") / parts
            if math.isfinite(seconds):
                return max(0.0, seconds)
    with suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers.get("retry-after") or "").timestamp() - now)
    return None
