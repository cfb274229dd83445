"""The limits of one block run, and the meter that counts against them.

    meter = Meter(read_limits(Options(max_calls=30)), place="mailbox.njpy:12")
    meter.count_call()        CallLimitError, TimeLimitError ... once a limit is reached
    meter.count_reply(reply)  TokenLimitError, CostLimitError once more was used than allowed
    meter.count_effect()      EffectLimitError, TimeLimitError

A meter belongs to one run. `with limit(usd=1.0):` opens another for everything that runs inside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import RLock
from typing import Any

from njrt.data.context import Stack, allow_one_entry
from njrt.data.options import Options
from njrt.data.options.numbers import describe_number, is_limit
from njrt.data.records import fields, record, replace
from njrt.data.timeouts import Stopwatch, watched
from njrt.errors import (
    CallLimitError,
    ConfigurationError,
    CostLimitError,
    EffectLimitError,
    LimitError,
    NaturalError,
    ServerError,
    TimeLimitError,
    TokenLimitError,
)
from njrt.messages import Reply, Request, Usage
from njrt.models.model import Ask

Clock = Callable[[], float]
"""Returns the seconds since any fixed point, never decreasing."""

NO_USAGE = Usage(usd=0.0)

MIN_CALL_SECONDS = 0.1
"""A call with fewer seconds left than this is not worth making."""


@record
class Limits:
    """How much may be used; None means no limit."""

    effects: int | None = None
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None


@lru_cache(maxsize=256)
def read_limits(options: Options) -> Limits:
    """Return the limits of one run, from a block's merged options."""
    return Limits(*(getattr(options, f"max_{limit.name}") for limit in fields(Limits)))


@record
class MeterReading:
    """How much of each limit has been used so far."""

    effects: int = 0
    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    usd: float = 0.0


class Meter:
    """Counts one run's usage, also on the enclosing meters, and stops the run at the first limit.

    Thread-safe: a meter around several blocks counts them all. `option` is the setting that
    messages name, such as `max_{}`, with the limit's name filled in.
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
        self.limits, self.place = limits, place
        self._option, self._around = option, around
        self.watch = Stopwatch(clock(), clock)
        self._lock = RLock()
        self._counts = {"effects": 0, "calls": 0}
        self._tokens, self._usd = 0, 0.0

    def spent(self) -> MeterReading:
        """Return the usage so far."""
        seconds = self.watch.read()
        return MeterReading(**self._counts, seconds=seconds, tokens=self._tokens, usd=self._usd)

    def seconds_left(self) -> float | None:
        """Return the seconds left by the tightest limit, at least 0.0; None without a limit."""
        left = [
            max(0.0, meter.limits.seconds - meter.watch.read())
            for meter in (self, *self._around)
            if meter.limits.seconds is not None
        ]
        return min(left, default=None)

    def count_call(self, used: Usage = NO_USAGE) -> float | None:
        """Count one model call before it is made; no call is made once a limit is reached.

        `used` is the usage of previous calls for the same request, which is counted later with the
        reply. Returns the seconds that the tightest limit leaves; None if there is no limit.
        """
        left: list[float] = []
        for meter in (self, *self._around):
            left += meter._check_own_time()
            meter._check_budget(used)
            meter._count_one("calls", "model call", CallLimitError)
        return min(left, default=None)

    def count_effect(self) -> int:
        """Count one effect before it is served; return its number in the run, from 1."""
        for meter in (self, *self._around):
            meter._check_own_time()
            meter._count_one("effects", "effect", EffectLimitError)
        return self._counts["effects"]

    def count_reply(self, reply: Reply) -> None:
        """Count a reply's tokens and cost. A reply from the cache costs nothing."""
        usage = replace(reply.usage, usd=0.0) if reply.source == "cache" else reply.usage
        self.add_usage(usage)
        for meter in (self, *self._around):
            meter._check_budget(over=True)
            if reply.source == "model":
                meter._check_known(usage, reply.model or "(unnamed)")

    def _check_known(self, usage: Usage, model: str) -> None:
        """Raise if tokens or dollars are limited, and nobody knows how many a reply has cost."""
        unknown = f"no price is known for the model {model}; limit tokens instead"
        if is_uncounted := not usage.input + usage.output:
            unknown = f"the server of {model} reported no usage; limit calls instead"
        for kind, limit, is_unknown in (
            (TokenLimitError, "tokens", is_uncounted),
            (CostLimitError, "usd", usage.usd is None),
        ):
            if is_unknown and (most := getattr(self.limits, limit)) is not None:
                option = f"`{self._option.format(limit)}` ({most:g})"
                raise self._make_error(kind, f"has a limit {option}, but {unknown}")

    def add_usage(self, usage: Usage) -> None:
        """Count calls' usage without checking the limits."""
        for meter in (self, *self._around):
            with meter._lock:
                meter._tokens += usage.input + usage.output
                meter._usd += usage.usd or 0.0

    @property
    def leaves_room(self) -> bool:
        """Whether nothing but time, and the run's own calls and effects, is limited."""
        limits = [
            replace(self.limits, calls=None, effects=None),
            *(it.limits for it in self._around),
        ]
        return all(replace(it, seconds=None) == Limits() for it in limits)

    def check(self, spare: float = 0.0) -> None:
        """Raise `TimeLimitError` if at most `spare` seconds of wall time are left."""
        for meter in (self, *self._around):
            meter._check_own_time(spare)

    def _count_one(self, name: str, noun: str, kind: type[LimitError]) -> None:
        with self._lock:
            self._counts[name] += 1
            number = self._counts[name]
        most = getattr(self.limits, name)
        if most is not None and number > most:
            raise self._make_limit_error(kind, name, _format_count(most, noun))

    def _check_own_time(self, spare: float = 0.0) -> tuple[float, ...]:
        """Return the seconds left, if there is a limit; raise if they are at most `spare`."""
        most = self.limits.seconds
        if most is None:
            return ()
        left = most - self.watch.read()
        if left <= spare:
            raise self._make_limit_error(TimeLimitError, "seconds", f"{most:g} seconds")
        return (left,)

    def _check_budget(self, used: Usage = NO_USAGE, over: bool = False) -> None:
        """Raise if tokens or dollars are spent; with `over`, only if more was used than allowed."""
        tokens, usd = self.limits.tokens, self.limits.usd
        if tokens is not None and self._tokens + used.input + used.output >= tokens + over:
            raise self._make_limit_error(TokenLimitError, "tokens", _format_count(tokens, "token"))
        spent = self._usd + (used.usd or 0.0)
        if usd is not None and (spent > usd if over else spent >= usd):
            raise self._make_limit_error(CostLimitError, "usd", f"{usd:g} US dollars")

    def _make_limit_error(self, kind: type[LimitError], limit: str, most: str) -> LimitError:
        now = f"`{self._option.format(limit)}` (now {getattr(self.limits, limit):g})"
        return self._make_error(
            kind,
            f"reached its limit of {most}; allow more with {now}, or let the prompt ask for less",
        )

    def _make_error(self, kind: type[LimitError], text: str) -> LimitError:
        owner = f"{self.place}: the block" if self.place else "the program"
        error = kind(f"{owner} {text}")
        error.place = self.place or None
        return error


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


@record
class Metered:
    """A layer that counts calls, tokens and cost, and lets no call outlast the run's time."""

    meter: Meter

    async def answer(self, request: Request, ask: Ask) -> Reply:
        changes: dict[str, Any] = {"before_call": self.meter.count_call}
        if (left := self.meter.count_call()) is not None:
            left = max(left, MIN_CALL_SECONDS)
            changes["timeout"] = min(left, request.timeout)
        try:
            reply = await ask(replace(request, **changes))
        except NaturalError as error:
            for attempt in error.attempts:
                self.meter.add_usage(attempt.usage)
            if isinstance(error, ServerError):
                try:
                    self.meter.check(spare=MIN_CALL_SECONDS)
                except TimeLimitError as over:
                    raise over from error
            raise
        self.meter.count_reply(reply)
        return reply


def check_limits(limits: Limits) -> None:
    """Raise ConfigurationError for an invalid limit, such as NaN, which could never be reached."""
    for part in fields(limits):
        value = getattr(limits, part.name)
        is_whole = part.name in ("effects", "calls", "tokens")
        number, kind = ("whole number", int) if is_whole else ("number", float)
        if value is not None and not is_limit(value, kind):
            raise ConfigurationError(
                f"njrt.limit: {part.name} must be a {number}, at least 0, or None for no limit, "
                f"not {describe_number(value)}"
            )


_open_meters: Stack[Meter] = Stack("njrt.limits")


list_open_meters = _open_meters.here
"""Returns the meters that `limit` opened around this point of the program, outermost first."""


def has_limit_elsewhere() -> bool:
    """Return whether a `limit` is open in this process, but none here."""
    return bool(_open_meters.everywhere) and not _open_meters.here()


@allow_one_entry
@contextmanager
def limit(
    *,
    usd: float | None = None,
    calls: int | None = None,
    tokens: int | None = None,
    effects: int | None = None,
    seconds: float | None = None,
    clock: Clock | None = None,
    option: str = "njrt.limit({}=...)",
) -> Iterator[Meter]:
    """Limit the total usage of the blocks inside the `with`; yield the meter that counts it.

    `option` is the limit's name in messages.
    """
    limits = Limits(effects=effects, calls=calls, seconds=seconds, tokens=tokens, usd=usd)
    check_limits(limits)
    meter = Meter(limits, clock or time.monotonic, option=option)
    with _open_meters.opened(meter), watched(meter.watch):
        yield meter
