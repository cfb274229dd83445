"""The limits of one run of a block, and the meter that counts against them.

    Options(max_calls=30, max_usd=0.5) -> Limits(calls=30, usd=0.5)

    meter = Meter(limits, clock=time.monotonic, place="mailbox.njpy:12")
    meter.begin_call()        CallLimitError, TimeLimitError ... once there is nothing left to spend
    meter.spend(reply)        TokenLimitError, CostLimitError once more was spent than allowed
    meter.begin_effect()      EffectLimitError, TimeLimitError

A meter belongs to one run. `with limit(usd=1.0):` opens one more around everything that runs inside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from njrt.context import Around
from njrt.errors import (
    CallLimitError,
    CostLimitError,
    EffectLimitError,
    LimitError,
    TimeLimitError,
    TokenLimitError,
)
from njrt.messages import Reply
from njrt.options import Options

Clock = Callable[[], float]
"""Seconds from any fixed point on, never going back: `time.monotonic` outside of tests."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be used; None means as much as it takes."""

    effects: int | None = None
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None


def read_limits(options: Options) -> Limits:
    """Take the limits of one run out of a block's merged options."""
    return Limits(
        effects=options.max_effects,
        calls=options.max_calls,
        seconds=options.max_seconds,
        tokens=options.max_tokens,
        usd=options.max_usd,
    )


@dataclass(frozen=True, slots=True)
class MeterReading:
    """What has been used so far."""

    effects: int = 0
    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0


class Meter:
    """Counts what one run uses, tells the meters around it, and stops the run at the first limit.

    Thread-safe: a meter around several blocks is told by all of them. `option` is what a message
    tells the reader to raise, such as `max_{}`, with the name of the limit filled in.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Clock = time.monotonic,
        *,
        place: str = "",
        option: str = "max_{}",
        around: tuple[Meter, ...] = (),
    ) -> None:
        self.limits = limits
        self.place = place
        self._option = option
        self._around = around
        self._clock = clock
        self._began = clock()
        self._lock = Lock()
        self._effects = self._calls = self._tokens = 0
        self._usd = 0.0

    def spent(self) -> MeterReading:
        """Say what has been used so far."""
        seconds = self._clock() - self._began
        return MeterReading(self._effects, self._calls, seconds, self._tokens, self._usd)

    def seconds_left(self) -> float | None:
        """Say how many seconds the tightest of the limits leaves (0.0 at least); None: no limit."""
        left = [
            max(0.0, meter._began + meter.limits.seconds - meter._clock())
            for meter in (self, *self._around)
            if meter.limits.seconds is not None
        ]
        return min(left, default=None)

    def count_call(self) -> None:
        """Count one model call, before it is made: nothing may be spent once a limit is reached."""
        for meter in (self, *self._around):
            meter._check_own_time()
            meter._check_budget()
            with meter._lock:
                meter._calls += 1
                calls = meter._calls
            most = meter.limits.calls
            if most is not None and calls > most:
                raise meter._make_error(
                    CallLimitError, "calls", f"{_format_count(most, 'model call')}"
                )

    def count_effect(self) -> None:
        """Count one effect, before it is served."""
        for meter in (self, *self._around):
            meter._check_own_time()
            with meter._lock:
                meter._effects += 1
                effects = meter._effects
            most = meter.limits.effects
            if most is not None and effects > most:
                raise meter._make_error(
                    EffectLimitError, "effects", f"{_format_count(most, 'effect')}"
                )

    def count_reply(self, reply: Reply) -> None:
        """Count the tokens and the cost of a reply. A reply out of the cache costs no money."""
        usage = reply.usage
        usd = 0.0 if reply.source == "cache" else usage.usd
        for meter in (self, *self._around):
            with meter._lock:
                meter._tokens += usage.input + usage.output
                meter._usd += usd or 0.0
            meter._check_budget(over=True)
            if usd is None and reply.source == "model" and meter.limits.usd is not None:
                raise meter._make_unpriced_error(reply.model)

    def check(self) -> None:
        """Raise `TimeLimitError` once the wall time is used up."""
        for meter in (self, *self._around):
            meter._check_own_time()

    def _check_own_time(self) -> None:
        most = self.limits.seconds
        if most is not None and self._clock() - self._began >= most:
            raise self._make_error(TimeLimitError, "seconds", f"{most:g} seconds")

    def _check_budget(self, over: bool = False) -> None:
        """Raise when tokens or dollars are used up; with `over`, only when more than all was used."""
        tokens, usd = self.limits.tokens, self.limits.usd
        if tokens is not None and self._tokens >= tokens + over:
            raise self._make_error(TokenLimitError, "tokens", _format_count(tokens, "token"))
        if usd is not None and (self._usd > usd if over else self._usd >= usd):
            raise self._make_error(CostLimitError, "usd", f"{usd:g} US dollars")

    def _make_error(self, kind: type[LimitError], limit: str, most: str) -> LimitError:
        option = self._option.format(limit)
        value = getattr(self.limits, limit)
        return self._add_place(
            kind(
                f"{self._describe_owner()} reached its limit of {most}; "
                f"allow more with `{option}` (now {value:g}), or let the prompt ask for less"
            )
        )

    def _make_unpriced_error(self, model: str) -> LimitError:
        option = self._option.format("usd")
        return self._add_place(
            CostLimitError(
                f"{self._describe_owner()} has a limit `{option}` ({self.limits.usd:g}), but no price is known for "
                f"the model {model or '(unnamed)'}; limit tokens instead, or tell njrt its price"
            )
        )

    def _describe_owner(self) -> str:
        return f"{self.place}: the block" if self.place else "the program"

    def _add_place(self, error: LimitError) -> LimitError:
        error.place = self.place or None
        return error


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


_open_meters: Around[Meter] = Around("njrt.session.limits")


def list_open_meters() -> tuple[Meter, ...]:
    """Give the meters that `limit` has opened around this point of the program, outermost first."""
    return _open_meters.here()


@contextmanager
def limit(
    *,
    usd: float | None = None,
    calls: int | None = None,
    tokens: int | None = None,
    effects: int | None = None,
    seconds: float | None = None,
    clock: Clock = time.monotonic,
) -> Iterator[Meter]:
    """Limit what all blocks that run inside the `with` use together; gives the meter that counts it."""
    limits = Limits(effects=effects, calls=calls, seconds=seconds, tokens=tokens, usd=usd)
    with _open_meters.opened(Meter(limits, clock, option="njrt.limit({}=...)")) as meter:
        yield meter
