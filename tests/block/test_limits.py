"""A run stops at the first limit that it reaches, and the message says how to raise it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from programs import PlainProgram, Program

import njrt
from njrt.block.session.limits import Limits, Meter, MeterReading, list_open_meters, read_limits
from njrt.data.options import DEFAULTS, OPTION_NAMES, find_option_problem
from njrt.errors import EffectLimitError
from njrt.messages import ModelMessage, Protocol, Reply, Request, Usage
from njrt.models.retry_and_fallback import FallbackModel
from waiting import run_threads


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def reply(tokens: int = 10, usd: float | None = 0.01, source: str = "model") -> Reply:
    return Reply(ModelMessage("x"), usage=Usage(tokens, 0, 0, usd), model="m-1", source=source)  # type: ignore[arg-type]


Step = Callable[[Meter, Clock], object]


def later(seconds: float) -> Step:
    return lambda meter, clock: setattr(clock, "now", clock.now + seconds)


def call(meter: Meter, clock: Clock) -> object:
    return meter.count_call()


def effect(meter: Meter, clock: Clock) -> object:
    return meter.count_effect()


def spend(*args: object) -> Step:
    return lambda meter, clock: meter.count_reply(reply(*args))  # type: ignore[arg-type]


REACHED: list[tuple[Limits, list[Step], type[njrt.LimitError], str]] = [
    (
        Limits(effects=1),
        [effect, effect],
        EffectLimitError,
        "limit of 1 effect; allow more with `max_effects` (now 1)",
    ),
    (Limits(seconds=5), [call, later(5), call], njrt.TimeLimitError, "limit of 5 seconds"),
    (Limits(seconds=5), [later(9), effect], njrt.TimeLimitError, "limit of 5 seconds"),
    (
        Limits(tokens=15),
        [spend(), spend()],
        njrt.TokenLimitError,
        "limit of 15 tokens; allow more with `max_tokens`",
    ),
    (Limits(tokens=10), [spend(), call], njrt.TokenLimitError, "limit of 10 tokens"),
    (Limits(usd=0.015), [spend(), spend()], njrt.CostLimitError, "limit of 0.015 US dollars"),
    (Limits(usd=1), [spend(10, None)], njrt.CostLimitError, "no price is known for the model m-1"),
]


@pytest.mark.parametrize(("limits", "steps", "error", "says"), REACHED)
def test_the_last_step_reaches_the_limit(
    limits: Limits, steps: list[Step], error: type[njrt.LimitError], says: str
) -> None:
    clock = Clock()
    meter = Meter(limits, clock, place="mail.njpy:12")
    for step in steps[:-1]:
        step(meter, clock)
    with pytest.raises(error) as raised:
        steps[-1](meter, clock)
    assert str(raised.value).startswith("mail.njpy:12: the block ")
    assert says in str(raised.value)
    assert raised.value.place == "mail.njpy:12"


def test_exactly_as_much_as_is_allowed_is_allowed() -> None:
    meter = Meter(Limits(effects=2, calls=2, tokens=20, usd=0.02, seconds=9), Clock())
    for _ in range(2):
        meter.count_call()
        meter.count_reply(reply())
        meter.count_effect() if meter.spent().tokens < 20 else None
    assert meter.spent() == MeterReading(effects=1, calls=2, seconds=0.0, tokens=20, usd=0.02)


@pytest.mark.parametrize(("usd", "source"), [(0.01, "cache"), (None, "recording")])
def test_kept_replies_cost_no_money_but_have_tokens(usd: float | None, source: str) -> None:
    meter = Meter(Limits(usd=0.001), Clock())
    meter.count_reply(reply(10, usd, source))
    assert (meter.spent().usd, meter.spent().tokens) == (0, 10)


def test_the_tightest_limit_says_how_much_time_is_left() -> None:
    clock = Clock()
    around = Meter(Limits(seconds=3), clock)
    meter = Meter(Limits(seconds=10), clock, around=(around,))
    clock.now += 1
    assert meter.seconds_left() == 2
    clock.now += 5
    assert meter.seconds_left() == 0
    assert Meter(Limits(), clock).seconds_left() is None


def test_the_options_default_to_limits_on_everything_but_tokens_and_money() -> None:
    assert read_limits(DEFAULTS) == Limits(effects=300, calls=30, seconds=600.0)


def test_a_limit_around_several_runs_counts_them_together() -> None:
    with njrt.limit(calls=3) as around:
        for _ in range(3):
            Meter(Limits(calls=1), around=list_open_meters()).count_call()
        with pytest.raises(
            njrt.CallLimitError,
            match=r"the program reached its limit of 3 model calls; .*`njrt.limit\(calls=...\)`",
        ):
            Meter(Limits(calls=1), around=list_open_meters()).count_call()
        assert around.spent().calls == 4
    assert list_open_meters() == ()


def test_counting_is_exact_across_threads() -> None:
    around = Meter(Limits())

    def count() -> None:
        for _ in range(500):
            meter = Meter(Limits(), around=(around,))
            meter.count_call()
            meter.count_effect()
            meter.count_reply(reply(1, 0.0))

    run_threads(*[count] * 4)
    spent = around.spent()
    assert (spent.calls, spent.effects, spent.tokens) == (2000, 2000, 2000)


class Silent:
    """A server that never answers: each call ends by its timeout."""

    name = "silent"
    protocol: Protocol = "tools"

    def __init__(self) -> None:
        self.timeouts: list[float] = []

    def ask(self, request: Request) -> Reply:
        self.timeouts.append(request.timeout)
        time.sleep(request.timeout)
        raise njrt.ServerError(f"no answer within {request.timeout:g} seconds")

    async def aask(self, request: Request) -> Reply:
        self.timeouts.append(request.timeout)
        await asyncio.sleep(request.timeout)
        raise njrt.ServerError(f"no answer within {request.timeout:g} seconds")


WAITING = Program('''
    def f():
        """natural(max_seconds=0.3)
        Put a number into <:y>.
        """
        return y

    async def g():
        """natural(max_seconds=0.3)
        Put a number into <:y>.
        """
        return y
''')


@pytest.mark.parametrize("function", ["f", "g"])
@pytest.mark.parametrize("count", [1, 3])
def test_the_time_limit_holds_in_a_call_and_over_fallbacks(function: str, count: int) -> None:
    models = tuple(Silent() for _ in range(count))
    call: Any = WAITING.load()[function]
    with (
        suppress(njrt.TimeLimitError),
        njrt.using(model=Silent()),
    ):  # loads what the first block needs
        call() if function == "f" else asyncio.run(call())
    with (
        njrt.using(model=FallbackModel(models) if count > 1 else models[0]),
        pytest.raises(njrt.TimeLimitError, match=r"limit of 0.3 seconds") as caught,
    ):
        call() if function == "f" else asyncio.run(call())
    assert isinstance(caught.value.__cause__, njrt.ServerError)
    assert sum(seconds for model in models for seconds in model.timeouts) <= 0.35


def test_each_fallback_has_the_timeout_of_a_call() -> None:
    """And a server that fails within the time of a run is a server error."""
    models = Silent(), Silent()
    with (
        njrt.using(model=FallbackModel(models), max_call_seconds=0.05, max_seconds=600),
        pytest.raises(njrt.ServerError, match=r"no answer within 0.05 seconds"),
    ):
        njrt.llm("Well?")
    assert [model.timeouts for model in models] == [[0.05], [0.05]]


NO_NUMBERS = [math.nan, -math.inf, 10**400, -(10**400), 1 << 20_000, 10**9 + 1]


def name_number(value: Any) -> str:
    """Return the id of a case; Python refuses to write numbers with thousands of digits."""
    return f"{value.bit_length()} bits" if isinstance(value, int) else repr(value)


OPTIONS_IN_NUMBERS = [name for name in OPTION_NAMES if name.startswith("max_")] + ["temperature"]


@pytest.mark.parametrize("name", OPTIONS_IN_NUMBERS)
@pytest.mark.parametrize("value", [*NO_NUMBERS, 1e300], ids=name_number)
def test_a_number_that_no_clock_can_hold_is_no_option(name: str, value: Any) -> None:
    problem = find_option_problem(name, value)
    assert problem is not None
    assert "number from" in problem
    assert len(problem) < 120
    with pytest.raises(njrt.ConfigurationError, match="number from"), njrt.using(**{name: value}):
        pass


@pytest.mark.parametrize("value", NO_NUMBERS[:-1], ids=name_number)
@pytest.mark.parametrize("name", ["usd", "tokens"])
def test_a_number_that_no_counter_can_hold_is_no_budget(name: str, value: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match="number"):
        njrt.Budget(**{name: value}, per="day")


@pytest.mark.parametrize("name", ["usd", "calls", "tokens", "effects", "seconds"])
@pytest.mark.parametrize("value", [*NO_NUMBERS, -1, -0.5, "1", True, [], 1j], ids=name_number)
def test_what_is_no_limit_is_refused(name: str, value: Any) -> None:
    with (
        pytest.raises(
            njrt.ConfigurationError, match=rf"njrt\.limit: {name} must be a .*number, at least 0"
        ),
        njrt.limit(**{name: value}),
    ):
        pass
    with njrt.limit(**{name: 0}), njrt.limit(**{name: None}):
        assert len(list_open_meters()) == 2


def test_a_limit_says_why_the_last_reply_was_refused() -> None:
    program = PlainProgram('''
        def f(x: str):
            """natural
            Count <x> into <:y: int>.
            """
            return y
    ''')
    with pytest.raises(njrt.CallLimitError) as caught:
        program.call("f", "a", says=lambda _: {"y": "one"}, max_calls=2)
    assert caught.value.__notes__[0].startswith("the last reply was refused: `y`: Input should be")
