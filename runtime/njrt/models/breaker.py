"""Stop asking a server that fails.

BreakerModel(model, failures=5, seconds=30)

closed      every request is sent; `failures` consecutive failures of the server open the breaker
open        no request is sent for `seconds`: each fails immediately with a NotAskedError
half open   one request is sent: a reply closes the breaker, a failure opens it again
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from njrt.context import free_in_child
from njrt.errors import ConfigurationError, ModelError, NotAskedError, ServerError
from njrt.messages import Reply, Request
from njrt.models.model import ModelAround
from njrt.models.wrapped import Calls, WrappedModel, adapt_model, require_numbers


class BreakerModel(ModelAround, WrappedModel):
    """A wrapper of `model` that sends no request for `seconds` after `failures` consecutive server failures.

    Failures are `ServerError`s. A server that rejects a request counts as working; a cancelled call proves nothing.
    Safe to share between threads and event loops.
    """

    def __init__(
        self,
        model: Any,
        *,
        failures: int = 5,
        seconds: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require_numbers("BreakerModel", {"failures": failures}, {"seconds": seconds})
        if failures < 1 or seconds < 0:
            raise ConfigurationError("BreakerModel needs at least 1 failure and no negative time")
        self.model = adapt_model(model)
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = free_in_child(threading.RLock())
        self._failures = 0
        self._opened_at: float | None = None
        self._probing_process = 0  # a forked child does not wait for its parent's probe

    @property
    def state(self) -> Literal["closed", "open", "half open"]:
        """Which requests are sent: all (closed), none (open), or one as a probe (half open)."""
        opened_at = self._opened_at  # another thread may close the breaker meanwhile
        if opened_at is None:
            return "closed"
        return "open" if self._clock() - opened_at < self._seconds else "half open"

    async def answer(self, request: Request, calls: Calls) -> Reply:
        is_probe, has_worked = self._begin(), None
        try:
            reply = await calls.ask(self.model, request)
            has_worked = True
            return reply
        except ModelError as error:
            if not isinstance(error, NotAskedError):
                has_worked = not isinstance(error, ServerError)
            raise
        finally:
            self._end(is_probe, has_worked)

    def _begin(self) -> bool:
        """Raise `NotAskedError` unless a request may be sent; return whether it is the probe."""
        with self._lock:
            if self._opened_at is None:
                return False
            left = self._opened_at + self._seconds - self._clock()
            if left > 0 or self._probing_process == os.getpid():
                error = NotAskedError(
                    f"{self.name} is not asked: its server failed {self._failures} times in a row; "
                    + (f"it is tried again in {left:.1f} s" if left > 0 else "it is being tried")
                )
                error.retry_after = max(left, 0.1)
                raise error
            self._probing_process = os.getpid()
            return True

    def _end(self, is_probe: bool, has_worked: bool | None) -> None:
        """Record the end of a request; None for `has_worked` means no evidence about the server."""
        with self._lock:
            if is_probe:
                self._probing_process = 0
            if has_worked:
                self._failures, self._opened_at = 0, None
            elif has_worked is False:
                self._failures += 1
                if is_probe or (self._opened_at is None and self._failures >= self._most):
                    self._opened_at = self._clock()
