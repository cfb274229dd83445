"""Calls of gated functions by the code of blocks: decided with their arguments, made once, and seen in trace and recording."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
import datetime
import enum
import functools
import inspect
import json
import re
import threading
import urllib.error
import weakref
import zoneinfo
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from email.message import Message
from pathlib import Path
from typing import Any

import pydantic
import pytest
from playing import carry_out

import njrt
from njrt.block.session.gate import write_call_result
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import RecordingFile
from njrt.testing import run
from njrt.values.encode import decode_value
from njrt.values.failures import StepFailedError, failure_from_json, failure_to_json
from waiting import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("guarded")


@dataclasses.dataclass
class Order:
    number: int
    cents: int = 500


class Receipt(enum.Enum):
    PAPER = 1


class CardError(Exception):
    """An exception with slots."""

    __slots__ = ("__code", "reason", "unset")

    def __init__(self, reason: Any, code: int = 7) -> None:
        super().__init__(str(reason))
        self.reason, self.__code = reason, code
        self.at = "till"

    @property
    def code(self) -> int:
        return self.__code


PAID: list[Any] = []


@njrt.gated
def pay(order: Order, cents: int = 1) -> str:
    """Pay for an order."""
    PAID.append((order.number, cents))
    return f"receipt {order.number}"


APAY_SECONDS = 0.05


@njrt.gated
async def apay(order: Order) -> str:
    await asyncio.sleep(APAY_SECONDS)
    PAID.append(order.number)
    return f"receipt {order.number}"


@njrt.gated(decide="allow", at_most=2)
def log(text: str) -> None:
    PAID.append(text)


@njrt.gated(decide="deny")
def refund(order: Order) -> None:
    PAID.append(order)


@njrt.gated(decide="allow", check=lambda cents: cents < 100 or "more than a euro")
def tip(cents: int) -> int:
    PAID.append(cents)
    return cents


@njrt.gated(decide="allow")
def give(what: str) -> Any:
    PAID.append(what)
    return eval(what)


@njrt.gated(decide="allow")
def fail(text: str) -> None:
    PAID.append(text)
    raise KeyError(text)


@dataclasses.dataclass
class Parcel:
    label: str
    cents: int


@njrt.gated
def weigh(parcel: Any) -> str:
    PAID.append(parcel)
    return f"weighed {len(PAID)}"


def helper(order: Order) -> str:
    return pay(order)


def in_a_thread(order: Order) -> str:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(njrt.carry(lambda: pay(order))).result()


@pytest.fixture(autouse=True)
def nothing_paid() -> Iterator[None]:
    PAID.clear()
    yield
    PAID.clear()


ORDERS = [Order(1), Order(2), Order(3)]
LOOP = "for order in orders:\n    receipts.append(pay(order))"
GATHER = "import asyncio\nreceipts.extend(await asyncio.gather(*map(apay, orders)))"


def play(code: str, policy: str = "guarded", is_async: bool = False, **settings: Any) -> list[Any]:
    """Carry out code that pays <orders>; return its <receipts>."""
    receipts: list[Any] = []
    called = [pay, apay, log, refund, tip, give, fail, request, try_request, helper, in_a_thread]
    named: Any = {function.__name__: function for function in called}
    with njrt.using(**settings):
        carry_out(code, policy, is_async=is_async, orders=ORDERS, receipts=receipts, **named)
    return receipts


def accept(pending: njrt.PendingEffect) -> njrt.Decision:
    return njrt.Accept()


def decide_calls(
    decide: Callable[[njrt.PendingEffect], njrt.Decision] = accept, seen: Any = None
) -> Any:
    """Make an interceptor that decides about calls, which go into `seen`, and accepts the code."""

    def intercept(pending: njrt.PendingEffect) -> njrt.Decision:
        if not isinstance(pending.effect, njrt.Touch):
            return njrt.Accept()
        if seen is not None:
            seen.append(pending)
        return decide(pending)

    return intercept


@pytest.fixture
def recorded(tmp_path: Path) -> dict[str, Any]:
    """Return the settings that continue one recording."""
    return {"record": f"new:{tmp_path / 'shop.jsonl'}"}


# ── deciding ─────────────────────────────────────────────────────────────────────────────────────


def test_each_call_is_shown_with_the_programs_own_arguments(policy: str) -> None:
    seen: list[njrt.PendingEffect] = []
    receipts = play(LOOP, policy, intercept=decide_calls(seen=seen))
    assert receipts == ["receipt 1", "receipt 2", "receipt 3"]
    shown = [pending.arguments["order"] for pending in seen]
    assert all(order is given for order, given in zip(shown, ORDERS, strict=True))
    effect = seen[1].effect
    assert isinstance(effect, njrt.Touch)
    assert effect.function == "test_gated.pay"
    assert effect.arguments["order"].startswith("Order")
    assert [pending.number for pending in seen] == [1, 2, 3]
    assert PAID == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize("way", ["helper(order)", "in_a_thread(order)", "list(map(pay, [order]))"])
def test_a_call_on_any_way_is_shown(way: str, policy: str) -> None:
    seen: list[njrt.PendingEffect] = []
    code = f"for order in orders:\n    receipts.append({way})"
    play(code, policy, intercept=decide_calls(seen=seen))
    assert len(seen) == len(PAID) == 3


@njrt.gated(decide="allow", at_most=2)
def grant(number: int) -> int:
    PAID.append(number)
    return number


class Cashier:
    @njrt.gated
    def pay(self, number: int) -> int:
        PAID.append(number)
        return number


@pytest.mark.parametrize(
    "code",
    [
        "[pool.submit(pay_here, 3).result()]",
        "pool.map(pay_here, [3])",
        "[pool.submit(lambda: pay_here(3)).result()]",
    ],
)
def test_a_function_that_the_code_hands_to_a_pool_passes_the_gate(code: str) -> None:
    results, seen = list[int](), list[Any]()
    named: Any = {"results": results, "pay_here": Cashier().pay}
    with ThreadPoolExecutor(1) as pool, njrt.using(intercept=decide_calls(seen=seen)):
        carry_out(f"results.extend({code})", pool=pool, **named)
    assert (results, PAID, len(seen)) == ([3], [3], 1)


def test_the_rule_holds_for_calls_in_a_pool_without_an_approval() -> None:
    code = "for n in range(3): pool.submit(grant, n).result()"
    with ThreadPoolExecutor(1) as pool:
        told = carry_out(code, pool=pool, grant=grant)
    assert "test_gated.grant may be called 2 times here" in told
    assert PAID == [0, 1]


def test_a_thread_that_outlives_the_block_passes_its_gate() -> None:
    ended, calls = threading.Event(), list[Any]()

    def wait_and(function: Callable[[int], Any]) -> None:
        ended.wait(HANG_SECONDS)
        function(5)

    with ThreadPoolExecutor(1) as pool:
        start = lambda function: calls.append(pool.submit(wait_and, function))  # noqa: E731
        assert carry_out("start(pay)", start=start, pay=njrt.gated(decide="deny")(charge)) == ""
        ended.set()
    assert isinstance(calls[0].exception(), PermissionError)
    assert PAID == []


def test_a_handed_function_is_like_the_function_and_plain_in_the_program() -> None:
    kept: list[Any] = []
    with njrt.using(intercept=accept):
        code = "kept.append(tip)\nkept.append(tip == kept[0] and tip in {tip})"
        assert carry_out(code, kept=kept, tip=tip) == ""
    handed, is_equal = kept
    assert is_equal
    assert handed == tip
    assert tip == handed
    assert {tip: 1}[handed] == 1
    assert handed.__name__ == "tip"
    assert copy.deepcopy(handed) is tip
    assert inspect.signature(handed) == inspect.signature(tip)
    assert handed(500) == 500  # its check holds for blocks


def test_a_call_in_an_unknown_context_is_refused_while_an_approval_is_open() -> None:
    with ThreadPoolExecutor(1) as pool:
        with njrt.using(intercept=accept):
            error = pool.submit(Cashier().pay, 1).exception(HANG_SECONDS)
        assert isinstance(error, njrt.ConfigurationError)
        assert "test_gated.Cashier.pay" in str(error)
        assert "njrt.carry" in str(error)
        pool.submit(Cashier().pay, 2).result(HANG_SECONDS)
    assert PAID == [2]


def test_a_rejected_call_that_the_code_does_not_catch_is_told_to_the_model(policy: str) -> None:
    interceptor = decide_calls(lambda pending: njrt.Reject("ask the accounts department"))
    with njrt.using(intercept=interceptor):
        told = carry_out("pay(order)", policy, pay=pay, order=ORDERS[0])
    assert "PermissionError: ask the accounts department" in told
    assert not PAID


def test_an_edit_changes_arguments_and_leaves_the_others(policy: str) -> None:
    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        assert isinstance(pending.effect, njrt.Touch)
        arguments = {**pending.effect.arguments, "cents": 7}
        return njrt.Edit(njrt.Touch(pending.effect.function, arguments))

    play("pay(orders[0], cents=100)\npay(orders[1])", policy, intercept=decide_calls(decide))
    assert PAID == [(1, 7), (2, 7)]


SECRET = "sk-abcdefghijklmnopqrstuvwx1234"
DAY = datetime.date(2026, 1, 1)
EDITS = [
    ({"parcel": {"cents": 5}}, {"cents": 5}),
    ({"parcel": [1, "<b>"], "sender": "ada"}, [1, "<b>"]),
    ({"parcel": "new"}, "new"),
    ({"sender": "ada"}, "unchanged"),
    ({"parcel": {"note": "<redacted>"}}, None),
    ({"parcel": "<redacted>!"}, None),
    ({"parcel": {}, "cent": 3}, None),
]


@pytest.mark.parametrize(("change", "expected"), EDITS)
def test_an_edit_replaces_whole_arguments(policy: str, change: Any, expected: Any) -> None:
    """An argument that is left as shown, even if a part is redacted, is the program's object."""

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        assert isinstance(pending.effect, njrt.Touch)
        return njrt.Edit(
            njrt.Touch(pending.effect.function, {**pending.effect.arguments, **change})
        )

    @njrt.gated
    def give_away(parcel: Any, sender: str = "nobody") -> None:
        PAID.append((parcel, sender))

    parcel = {"cents": 9, "key": SECRET, "days": (1, DAY), "order": ORDERS[0]}
    wrong = "<redacted> would be|has no argument cent"
    ends: Any = (
        pytest.raises(njrt.InterceptorError, match=wrong) if expected is None else nullcontext()
    )
    with njrt.using(intercept=decide_calls(decide)), ends:
        carry_out("give_away(parcel)", policy, give_away=give_away, parcel=parcel)
    if expected is None:
        assert PAID == []
        return
    ((made, sender),) = PAID
    assert made == (parcel if expected == "unchanged" else expected)
    assert sender == change.get("sender", "nobody")
    assert expected != "unchanged" or made["order"] is ORDERS[0]


CHANGED_WHILE_DECIDED: dict[str, tuple[Any, str, Any]] = {
    "a list": ([1], "given[0] = 100", [1]),
    "a list in a dict": ({"a": [1]}, "given['a'].append(100)", {"a": [1]}),
    "a set": ({1}, "given.add(100)", {1}),
    "a list that is being sent": ([1, 2], "await asyncio.sleep(0.05)\ngiven[0] = 100", [1, 2]),
    "an object": (Parcel("a", 1), "given.cents = 100", None),
    "an object in a list": ([Parcel("a", 1)], "given[0].cents = 100", None),
}


@pytest.mark.parametrize(
    ("given", "change", "made"), CHANGED_WHILE_DECIDED.values(), ids=CHANGED_WHILE_DECIDED
)
def test_a_call_is_made_with_what_was_shown(given: Any, change: str, made: Any) -> None:
    """Plain containers are copied; a call whose objects have changed is refused."""
    began = asyncio.Event()

    @njrt.gated
    async def send(what: Any) -> None:
        await asyncio.sleep(0.05)
        PAID.append(copy.deepcopy(what))

    async def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            began.set()
            await asyncio.sleep(0.03)
        return njrt.Accept()

    changing = change.replace("\n", "\n    ")
    code = f"""
import asyncio
async def change():
    await began.wait()
    {changing}
await asyncio.gather(send(given), change())
"""
    named: Any = {"send": send, "given": copy.deepcopy(given), "began": began}
    with njrt.using(intercept=decide):
        told = carry_out(code, is_async=True, **named)
    assert ("PermissionError" in told) == (made is None)
    assert ([] if made is None else [made]) == PAID


def test_reading_an_argument_does_not_change_it() -> None:
    class Basket:
        def __init__(self) -> None:
            self.prices = [1, 2]

        @functools.cached_property
        def total(self) -> int:
            return sum(self.prices)

    @njrt.gated
    def buy(basket: Basket) -> None:
        PAID.append(basket)

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        return njrt.Accept() if pending.arguments["basket"].total == 3 else njrt.Abort()

    basket = Basket()
    with njrt.using(intercept=decide_calls(decide)):
        carry_out("buy(basket)", buy=buy, basket=basket)
    assert [basket] == PAID


def test_an_edit_to_another_function_is_an_error(policy: str) -> None:
    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        return njrt.Edit(njrt.Touch("test_gated.refund", {}))

    with pytest.raises(njrt.InterceptorError, match="something else"):
        play(LOOP, policy, intercept=decide_calls(decide))
    assert not PAID


def test_an_abort_ends_the_block_whatever_the_code_catches(policy: str) -> None:
    code = "try:\n    pay(orders[0])\nexcept BaseException:\n    receipts.append('caught')"
    with pytest.raises(njrt.PolicyError, match="aborted"):
        play(code, policy, intercept=decide_calls(lambda pending: njrt.Abort()))
    assert not PAID


@pytest.mark.parametrize(
    ("code", "paid", "message"),
    [
        ("pay(order)", [], "nobody decides about calls of test_gated.pay"),
        ("for text in 'abc':\n    log(text)", ["a", "b"], "may be called 2 times here"),
        ("refund(order)", [], "calls of test_gated.refund are not allowed"),
        ("tip(20)\ntip(500)", [20], "more than a euro"),
    ],
)
def test_rules(code: str, paid: list[Any], message: str, policy: str) -> None:
    assert message in carry_out(
        code, policy, order=ORDERS[0], pay=pay, log=log, refund=refund, tip=tip
    )
    assert paid == PAID


def test_the_program_calls_as_it_likes() -> None:
    assert pay(ORDERS[0]) == "receipt 1"
    refund(ORDERS[0])
    assert asyncio.run(apay(ORDERS[1])) == "receipt 2"
    assert njrt.call_key() == ""


def test_an_interceptor_may_call_the_function_itself(policy: str) -> None:
    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        pay(Order(99))
        return njrt.Accept()

    play("pay(orders[0])", policy, intercept=decide_calls(decide))
    assert PAID == [(99, 1), (1, 1)]


def test_async_functions(policy: str) -> None:
    seen: list[Any] = []

    async def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            await asyncio.sleep(0)
            seen.append(pending.arguments["order"].number)
        return njrt.Reject("no") if seen[-1:] == [2] else njrt.Accept()

    mistake = r"`decide` is a coroutine function, but \S*\.pay is not async"
    with pytest.raises(njrt.ConfigurationError, match=mistake):
        play("pay(orders[0])", policy, is_async=True, intercept=decide)
    code = "for order in orders:\n    try:\n        receipts.append(await apay(order))\n    except PermissionError:\n        pass"
    assert play(code, policy, is_async=True, intercept=decide) == ["receipt 1", "receipt 3"]
    assert seen == [1, 2, 3]
    assert PAID == [1, 3]


def test_a_coroutine_that_the_code_leaves_to_the_program_is_a_call_of_the_code() -> None:
    with njrt.using(intercept=decide_calls(lambda _: njrt.Reject("no"))):
        (made,) = play("receipts.append(apay(orders[0]))", is_async=True)
        assert inspect.iscoroutinefunction(apay)
        assert made.__name__ == "apay"
        with pytest.raises(PermissionError, match="no"):
            asyncio.run(made)
    assert PAID == []


def test_the_time_of_a_decision_is_not_the_codes(policy: str) -> None:
    asked: list[int] = []

    async def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            asked.append(pending.arguments["order"].number)
            await asyncio.sleep(0.5)
        return njrt.Accept()

    settings: Any = {"is_async": True, "intercept": decide, "max_code_seconds": 1}
    assert len(play(GATHER, policy, **settings)) == 3
    with pytest.raises(njrt.errors.CodeTimeLimitError):
        play(GATHER + "\nwhile True:\n    await asyncio.sleep(0)", policy, **settings)
    assert asked == [1, 2, 3] * 2


def test_a_person_is_asked_about_some_functions() -> None:
    approve = njrt.approve(calls=[pay])
    with pytest.raises(njrt.ConfigurationError, match="there is no terminal"):
        play("receipts.append(give('3'))\npay(orders[0])", intercept=approve)
    assert PAID == ["3"]
    with pytest.raises(njrt.ConfigurationError, match="is not gated"):
        njrt.approve(calls=[helper])
    with pytest.raises(njrt.ConfigurationError, match="is not gated"):
        njrt.approve(calls=[3])  # type: ignore[list-item]
    with pytest.raises(njrt.ConfigurationError, match="empty"):
        njrt.approve(calls=[])
    wrong: Any
    for wrong in ({"calls": 3}, {"calls": pay}, {"calls": "pay"}, {"changes": 3}):
        with pytest.raises(njrt.ConfigurationError, match=f"njrt.approve: {next(iter(wrong))} is"):
            njrt.approve(**wrong)


def test_a_function_of_a_library_may_be_gated() -> None:
    told = carry_out("dumps(3)", dumps=njrt.gated(decide="deny")(json.dumps))
    assert "calls of json.dumps are not allowed" in told


@njrt.gated(at_most=1, check=lambda cents: cents < 100 or "more than a euro")
def donate(cents: int) -> None:
    PAID.append(cents)


def test_refused_calls_do_not_count_for_at_most() -> None:
    def decide(effect: njrt.PendingEffect) -> Any:
        is_ten = isinstance(effect.effect, njrt.Touch) and effect.effect.arguments == {"cents": 10}
        return njrt.Reject("not ten") if is_ten else njrt.Accept()

    says = [run(f"donate({cents})") for cents in (500, 10, 20, 30)]
    model = njrt.Scripted([*says, run("pass", done=True)])
    with njrt.using(model=model, intercept=decide):
        njrt.run("natural\nUse <donate>.", lambda: (donate,), at="donate.njpy:1")
    assert PAID == [20]
    assert "may be called once here" in str(model.requests[-1].messages[-1])


def test_wrong_arguments_of_gated() -> None:
    with pytest.raises(njrt.ConfigurationError, match="decide"):
        njrt.gated(decide="maybe")  # type: ignore[call-overload]
    with pytest.raises(njrt.ConfigurationError, match="at_most"):
        njrt.gated(at_most=-1)
    with pytest.raises(njrt.ConfigurationError, match="functions"):
        njrt.gated(Order)
    with pytest.raises(njrt.ConfigurationError, match="decide"):
        njrt.CallRule("maybe")  # type: ignore[arg-type]


# ── once ─────────────────────────────────────────────────────────────────────────────────────────


class Crash(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("paused_at", [1, 2, 3])
def test_a_paused_run_goes_on_and_pays_nothing_twice(
    policy: str, paused_at: int, recorded: dict[str, Any]
) -> None:
    asked: list[int] = []

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        asked.append(pending.arguments["order"].number)
        return njrt.Pause() if len(asked) == paused_at else njrt.Accept()

    settings = recorded | {"intercept": decide_calls(decide)}
    with pytest.raises(njrt.Paused):
        play(LOOP, policy, **settings)
    assert len(PAID) == paused_at - 1
    assert play(LOOP, policy, **settings) == ["receipt 1", "receipt 2", "receipt 3"]
    assert PAID == [(1, 1), (2, 1), (3, 1)]
    assert asked == sorted([1, 2, 3, paused_at])


VALUES = [
    "None",
    "(1, 2)",
    "{'a': [1.5, (True,)]}",
    "{1, 2}",
    "b'x'",
    "datetime.date(2026, 3, 1)",
    "Order(5)",
    "[Order(5)] * 2",
    "Receipt.PAPER",
    "datetime.datetime(2026, 3, 1, 8, 30, tzinfo=datetime.timezone.utc)",
    "[datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3), 'x'))]",
    "datetime.datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))",
    "datetime.time(8, 30, tzinfo=datetime.timezone.utc)",
    "zoneinfo.ZoneInfo('Europe/Berlin')",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_result_comes_back_as_it_was(policy: str, value: str, recorded: dict[str, Any]) -> None:
    code = f"receipts.append(give({value!r}))"
    first, again = play(code, policy, **recorded), play(code, policy, **recorded)
    assert first == again == [eval(value)]
    assert type(first[0]) is type(again[0])
    assert len(PAID) == 1


class Zone(datetime.tzinfo):
    """The zone of a library."""

    def utcoffset(self, at: datetime.datetime | None) -> datetime.timedelta:
        return datetime.timedelta(hours=2)


def test_a_time_comes_back_with_its_offset(recorded: dict[str, Any]) -> None:
    code = "receipts.append(give('datetime.datetime(2026, 3, 1, tzinfo=Zone())'))"
    first, again = play(code, **recorded), play(code, **recorded)
    assert [str(time) for time in again] == ["2026-03-01 00:00:00+02:00"]
    assert (first, len(PAID)) == (again, 1)
    berlin = datetime.datetime(
        2026, 10, 25, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")
    )
    stored = write_call_result([berlin])
    (read,) = decode_value(stored["text"], stored["classes"])
    assert (str(read), read.tzinfo.key) == ("2026-10-25 02:30:00+01:00", "Europe/Berlin")


def test_a_result_that_cannot_be_stored_is_said_when_it_is_needed(recorded: dict[str, Any]) -> None:
    code = "give('lambda: 1')\ngive('lambda: 1')\nreceipts.append(1)"
    words = "give cannot be stored .the function <lambda>"
    with pytest.warns(njrt.BlockWarning, match=words) as said:
        play(code, **recorded)
    assert len({str(each.message) for each in said}) == 1
    with pytest.raises(njrt.CallInDoubtError, match="could not be stored"):
        play(code, **recorded)


def test_an_exception_is_raised_again(policy: str, recorded: dict[str, Any]) -> None:
    code = "try:\n    fail('x')\nexcept KeyError as error:\n    receipts.append(error.args)"
    assert play(code, policy, **recorded) == play(code, policy, **recorded) == [("x",)]
    assert PAID == ["x"]


@njrt.gated(decide="allow")
def request(code: int) -> None:
    PAID.append(code)
    headers: Any = Message()
    raise urllib.error.HTTPError("http://bank", code, "Payment Required", headers, None)


def try_request() -> str:
    try:
        request(402)
    except urllib.error.HTTPError as error:
        return f"{type(error).__name__} {error.code}: {error}"
    return "paid"


@pytest.mark.parametrize("code", ["receipts.append(try_request())", "request(402)"])
def test_an_exception_that_cannot_be_stored_keeps_its_class(
    policy: str, code: str, tmp_path: Path
) -> None:
    """Also if the model is shown it: a replay sends the same messages."""

    path = tmp_path / "shop.jsonl"
    first, *again = (play(code, policy, record=f"{mode}:{path}") for mode in ("new", "new", "none"))
    assert again == [first, first]
    assert first in ([], ["HTTPError 402: HTTP Error 402: Payment Required"])
    assert PAID == [402]


def crash_while_paying(
    tmp_path: Path,
    find: Any = None,
    code: str = "for n in (1, 2, 3):\n    bought.append(buy(n))",
    policy: str = "guarded",
) -> Callable[[], list[Any]]:
    """Run a program that dies during its second call; return what runs it again."""
    paid = PAID
    is_first = [True]

    @njrt.gated(decide="allow", find=find)
    def buy(number: int) -> str:
        if number == 2 and is_first.pop():
            raise Crash
        paid.append((number, njrt.call_key()))
        return f"bought {number}"

    def go() -> list[Any]:
        bought: list[str] = []
        with njrt.using(record=f"new:{tmp_path / 'shop.jsonl'}"):
            carry_out(code, policy, buy=buy, bought=bought)
        return bought

    with pytest.raises(Crash):
        go()
    is_first.append(False)
    return go


def fail_to_look(key: str) -> str:
    raise ConnectionError("the bank does not answer")


async def look_later(key: str) -> None:
    """Find nothing, asynchronously; the function is not async."""


@pytest.mark.parametrize(
    ("find", "words"),
    [
        (None, "may have been made"),
        (fail_to_look, "`find` failed to look whether it was made: .*the bank does not answer"),
        (look_later, "`find` is async, but the function is not"),
    ],
)
def test_code_cannot_catch_a_call_in_doubt_and_pay_again(
    tmp_path: Path, find: Any, words: str, policy: str
) -> None:
    code = "for n in (1, 2, 2):\n    try:\n        bought.append(buy(n))\n    except Exception:\n        pass"
    go = crash_while_paying(tmp_path, find, code, policy)
    with pytest.raises(njrt.CallInDoubtError, match=words):
        go()
    assert [number for number, _ in PAID] == [1]


class Till:
    """Methods with the decorator above `staticmethod` and `classmethod`, and below."""

    @njrt.gated(decide="allow", at_most=1)
    @staticmethod
    def above(cents: int) -> None:
        PAID.append(cents)

    @staticmethod
    @njrt.gated(decide="allow", at_most=1)
    def below(cents: int) -> None:
        PAID.append(cents)

    @njrt.gated(decide="allow", at_most=1)
    @classmethod
    def of_class(cls, cents: int) -> None:
        PAID.append(cents)


@pytest.mark.parametrize("name", ["above", "below", "of_class"])
@pytest.mark.parametrize("owner", ["till", "Till"])
def test_static_and_class_methods_are_gated(name: str, owner: str, policy: str) -> None:
    told = carry_out(f"{owner}.{name}(1)\n{owner}.{name}(2)", policy, till=Till(), Till=Till)
    assert "may be called once here" in told
    assert PAID == [1]


async def check_later(number: int) -> bool:
    return True


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("check", [check_later, lambda number: [1], lambda number: None])
def test_a_check_allows_a_call_only_by_true(check: Any) -> None:
    @njrt.gated(decide="allow", check=check)
    def buy(number: int) -> None:
        PAID.append(number)

    assert "its check returned" in carry_out("buy(3)", buy=buy)
    assert not PAID
    with pytest.raises(njrt.ConfigurationError, match="check must be a function"):
        njrt.gated(check=3)  # type: ignore[call-overload]


@pytest.mark.parametrize("kept", [1, 5, 10, 11, 40, 100])
def test_a_line_that_a_kill_has_cut_off_is_not_read(tmp_path: Path, kept: int) -> None:
    go = crash_while_paying(tmp_path, lambda key: None)
    file = tmp_path / "shop.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b'{"called"') + kept])
    assert go() == ["bought 1", "bought 2", "bought 3"]


def test_a_line_that_is_cut_off_within_a_character_is_text(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    file.write_bytes('{"a": "ü"}\n{"called": "ü'.encode()[:-1])
    assert RecordingFile(file).read() == '{"a": "ü"}\n{"called": "'


def test_find_says_that_a_call_was_not_made(tmp_path: Path) -> None:
    keys: list[str] = []
    go = crash_while_paying(tmp_path, keys.append)
    assert go() == ["bought 1", "bought 2", "bought 3"]
    assert [number for number, _ in PAID] == [1, 2, 3]
    assert len({key for _, key in PAID}) == 3
    assert keys == [PAID[1][1]]


def test_find_says_that_a_call_was_made(tmp_path: Path) -> None:
    go = crash_while_paying(tmp_path, lambda key: "found")
    assert go() == ["bought 1", "found", "bought 3"]
    assert [number for number, _ in PAID] == [1, 3]


LONG = [datetime.date(2026, 3, 1), *["x" * 90] * 3]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({1: [*LONG, Parcel("", 5)]}, {1: [*LONG, Parcel("", 6)]}),
        ([{1: [*LONG, 5]}], [{1: [*LONG, 6]}]),
        (SECRET + "AA", SECRET + "BB"),
    ],
)
def test_calls_that_are_shown_alike_are_other_calls(
    policy: str, first: Any, second: Any, tmp_path: Path
) -> None:
    path = tmp_path / "shop.jsonl"

    def go(parcel: Any, mode: str) -> Any:
        def weigh_it() -> str:
            return weigh(parcel)

        results: list[str] = []
        settings: Any = {"record": f"{mode}:{path}", "intercept": accept}
        with njrt.using(**settings):
            carry_out("results.append(weigh_it())", policy, weigh_it=weigh_it, results=results)
        return results

    assert go(first, "new") == go(first, "new") == go(first, "none") == ["weighed 1"]
    for mode in ("new", "none"):
        with pytest.raises(njrt.RecordingMismatchError):
            go(second, mode)
    assert [first] == PAID
    text = path.read_text()
    assert SECRET not in text.split('"called"')[1]
    older, found = re.subn(r', "digest": "\w+"', "", text)
    path.write_text(older)
    assert found == 1
    assert go(first, "new") == go(second, "none") == ["weighed 1"]
    assert [first] == PAID


def test_another_call_than_before_is_an_error(policy: str, recorded: dict[str, Any]) -> None:
    orders = map(Order, [1, 2, 3, 4])

    def next_order() -> Order:
        return next(orders)

    code = "pay(next_order())\npay(next_order())"
    wrong = pytest.raises(njrt.RecordingMismatchError, match=r"recorded: test_gated\.pay\(")
    for ends in (pytest.raises(njrt.Paused), wrong):
        with njrt.using(intercept=decide_calls(pause_at_two), **recorded), ends:
            carry_out(code, policy, pay=pay, next_order=next_order)
    assert PAID == [(1, 1)]


def test_a_replay_pays_nothing(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    play(LOOP, policy, record=path, intercept=accept)
    PAID.clear()
    with njrt.using(record=f"none:{path}"):
        assert play("", policy) == ["receipt 1", "receipt 2", "receipt 3"]
        with pytest.raises(njrt.RecordingMismatchError, match="no reply number 2"):
            play("", policy)
    assert not PAID


def test_a_replay_makes_no_call_that_is_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    play("receipts.append('none')", record=path)
    lines = path.read_text()
    path.write_text(lines.replace("receipts.append('none')", "receipts.append(give('3'))"))
    with pytest.raises(njrt.RecordingMismatchError, match="another call than the recording"):
        play("", record=f"none:{path}")
    assert not PAID


@pytest.mark.parametrize("kept", [1, 2])
def test_a_replay_of_an_unfinished_recording_is_paused(kept: int, tmp_path: Path) -> None:
    """Of a program that a person's question, or the machine, has stopped."""
    path = tmp_path / "shop.jsonl"
    settings: Any = {"record": f"new:{path}", "intercept": decide_calls(pause_at_two)}
    with pytest.raises(njrt.Paused):
        play(LOOP, **settings)
    assert PAID == [(1, 1)]
    lines = path.read_text().splitlines(True)
    path.write_text("".join(line for line in lines if kept == 2 or '"pending"' not in line))
    with pytest.raises(njrt.Paused, match="ends before the call") as paused:
        play("", record=f"none:{path}", intercept=accept)
    assert paused.value.recording == str(path)
    assert PAID == [(1, 1)]
    play("", record=f"new:{path}", intercept=accept)
    assert PAID == [(1, 1), (2, 1), (3, 1)]


def pause_at_two(pending: njrt.PendingEffect) -> njrt.Decision:
    return njrt.Pause() if pending.arguments["order"].number == 2 else njrt.Accept()


def test_equal_calls_are_different_calls(recorded: dict[str, Any]) -> None:
    for _ in range(2):
        play("pay(orders[0])\npay(orders[0])", **recorded, intercept=accept)
    assert PAID == [(1, 1), (1, 1)]


def test_gathered_calls_are_made_once(recorded: dict[str, Any]) -> None:
    for _ in range(2):
        receipts = play(GATHER, is_async=True, intercept=accept, **recorded)
        assert receipts == ["receipt 1", "receipt 2", "receipt 3"]
    assert PAID == [1, 2, 3]


def test_a_call_that_a_pause_cuts_off_is_in_doubt(
    recorded: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "APAY_SECONDS", 60)
    answers: Iterator[njrt.Decision] = iter([njrt.Accept(), njrt.Pause(), *[njrt.Accept()] * 9])
    settings = recorded | {"intercept": decide_calls(lambda pending: next(answers))}
    with pytest.raises(njrt.Paused):
        play(GATHER, is_async=True, **settings)
    with pytest.raises(njrt.CallInDoubtError, match=r"order.*1.*may have been made"):
        play(GATHER, is_async=True, **settings)
    assert 1 not in PAID


def test_a_line_that_was_not_written_whole_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    play(LOOP, record=path, intercept=accept)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert len(read_recording(RecordingFile(path)).touches) == 2
    path.write_bytes(whole)
    assert len(read_recording(RecordingFile(path)).touches) == 3
    assert json.loads(whole.split(b"\n")[0])["format"] == 3


# ── seen ─────────────────────────────────────────────────────────────────────────────────────────


def test_the_trace_has_each_call_with_its_result(policy: str, tmp_path: Path) -> None:
    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        return njrt.Reject("no") if pending.number == 2 else njrt.Accept()

    trace = tmp_path / "trace.jsonl"
    code = "for order in orders:\n    try:\n        pay(order)\n    except PermissionError:\n        pass"
    play(code, policy, trace=trace, intercept=decide_calls(decide))
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    calls = [line for line in lines if line.get("effect", {}).get("kind") == "Touch"]
    assert [(line["kind"], line["result"]) for line in calls] == [
        ("answer", "'receipt 1'"),
        ("refusal", "no"),
        ("answer", "'receipt 3'"),
    ]
    (code_line,) = [line for line in lines if line.get("effect", {}).get("kind") == "Run"]
    assert (code_line.get("touches", 0) > 2) == (policy == "contained")
    assert calls[1]["decisions"] == [
        {"interceptor": "intercept", "decision": "reject", "words": "no"}
    ]


def test_secrets_are_redacted_in_recordings(tmp_path: Path) -> None:
    @njrt.gated(decide="allow")
    def send(api_key: str) -> str:
        return "sent"

    path = tmp_path / "shop.jsonl"
    with njrt.using(record=path):
        carry_out("send('sk-' + 'proj-' + '1234567890abcdefghij')", send=send)
    assert "1234567890abcdefghij" not in path.read_text().split('"called"')[1]


# ── rules for functions without the decorator ────────────────────────────────────────────────────


class Mailer:
    def send(self, to: str, text: str = "") -> str:
        PAID.append((to, text))
        return f"sent to {to}"


class Newsletter(Mailer):
    def send(self, to: str, text: str = "news") -> str:
        return super().send(to, text)


def charge(cents: int) -> int:
    PAID.append(cents)
    return cents


def post(code: str, calls: Any, policy: str = "contained", **settings: Any) -> list[Any]:
    """Carry out code with a mailer, functions and a list for its results; a refusal raises."""
    results: list[Any] = []
    named: Any = {"mailer": Newsletter(), "Mailer": Mailer, "charge": charge}
    with njrt.using(calls=calls, **settings):
        told = carry_out(code, policy, functions=[charge], results=results, **named)
    if told:
        raise PermissionError(told)
    return results


WAYS = {
    "the function": "results.append(charge(5))",
    "an alias": "pay = charge\nresults.append(pay(5))",
    "an item": "results.append(functions[0](5))",
    "map": "results.extend(map(charge, [5]))",
    "a function of the program that is handed it": "functions.sort(key=lambda f: 0)\nresults.extend([5].__iter__())\n[5].sort(key=charge)",
    "a key of the program's list": "results.append(5)\nresults.sort(key=charge)",
    "a default": "def f(g=charge):\n    return g(5)\nresults.append(f())",
}


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_a_rule_holds_on_every_way(code: str) -> None:
    denied = {charge: njrt.CallRule("deny")}
    with pytest.raises(PermissionError, match=r"calls of test_gated\.charge are not allowed"):
        post(code + "\n", denied)
    assert PAID == []
    assert post(code, {charge: njrt.CallRule("allow")}) == [5]
    assert PAID == [5]


INNER: dict[str, tuple[Callable[[], Any], str]] = {
    "pydantic": (lambda: pydantic.validate_call(charge), "pay.raw_function(5)"),
    "a wrapped function": (lambda: functools.wraps(charge)(lambda n: charge(n)), "pay.inner(5)"),
    "a cache": (lambda: functools.cache(charge), "pay.cache_parameters()"),
}


@pytest.mark.parametrize("name", INNER)
def test_a_gated_function_shows_no_function_inside(name: str) -> None:
    make, code = INNER[name]
    for usual in ("pay(5)", code):
        inside = make()
        if name == "a wrapped function":
            inside.inner = charge
        assert carry_out(usual, pay=njrt.gated(decide="deny")(inside)) != ""
        assert PAID == []


class Shop:
    @njrt.gated(decide="deny")
    def pay(self, cents: int) -> None:
        PAID.append(cents)

    def __init__(self) -> None:
        self.charge = njrt.gated(decide="deny")(charge)


AROUND = {
    "Context.run of a named function": "context.run(pay, 5)",
    "Context.run of a method": "context.run(shop.pay, 5)",
    "Context.run of a function in an object": "context.run(shop.charge, 5)",
    "Context.run of a partial": "context.run(partial(shop.pay, 5))",
    "a partial": "partial(pay, 5)()",
    "a partial of the program": "waiting()",
    "a weak reference": "proxy(5)",
    "a weak reference in another context": "context.run(proxy, 5)",
    "a bound method": "shop.pay.__call__(5)",
    "the class's method": "type(shop).pay(shop, 5)",
    "a comparison": "sorted([5, 6], key=pay)",
    "a thread of the program": "pool.submit(pay, 5).result()",
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("code", AROUND.values(), ids=AROUND)
def test_there_is_no_way_around_a_rule(code: str, is_async: bool) -> None:
    shop, pay, context = Shop(), njrt.gated(decide="deny")(charge), contextvars.copy_context()
    waiting, proxy = functools.partial(pay, 5), weakref.proxy(pay)
    wait = "import asyncio\nawait asyncio.sleep(0)\n" if is_async else ""
    code = f"from functools import partial\n{wait}{code}"
    objects: Any = {"shop": shop, "pay": pay, "waiting": waiting, "proxy": proxy}
    with ThreadPoolExecutor(1) as pool:
        told = carry_out(code, is_async=is_async, context=context, pool=pool, **objects)
    assert told != ""
    assert PAID == []


METHODS = {
    "a method": "results.append(mailer.send('ada'))",
    "a bound method": "send = mailer.send\nresults.append(send('ada'))",
    "getattr": "results.append(getattr(mailer, 'send')('ada'))",
    "the method of the class": "results.append(type(mailer).send(mailer, 'ada'))",
    "methodcaller": "import operator\nresults.append(operator.methodcaller('send', 'ada')(mailer))",
}


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("code", METHODS.values(), ids=METHODS)
def test_calls_of_methods_are_decided(code: str) -> None:
    shown: list[Any] = []

    def decide(pending: njrt.PendingEffect) -> njrt.Decision:
        if isinstance(pending.effect, njrt.Touch):
            shown.append(pending.effect)
        return njrt.Accept()

    assert post(code, [Newsletter.send], intercept=decide) == ["sent to ada"]
    (touch,) = shown
    assert touch.function.endswith("Newsletter.send")
    assert touch.arguments["to"] == "ada"
    assert PAID == [("ada", "news")]
    PAID.clear()
    with pytest.raises(PermissionError, match="nobody decides"):
        post(code, [Newsletter.send])
    assert PAID == []
    # What the program calls itself is not decided.
    assert post(code, [Mailer.send]) == ["sent to ada"]


@pytest.mark.usefixtures("contained")
def test_a_call_by_rule_is_made_once(tmp_path: Path) -> None:
    code = "for n in [1, 2]:\n    results.append(mailer.send(str(n)))"
    rules = {Newsletter.send: njrt.CallRule("allow", at_most=2)}
    for mode in ("new", "none"):
        recording = {"record": f"{mode}:{tmp_path / 'calls.jsonl'}"}
        assert post(code, rules, **recording) == ["sent to 1", "sent to 2"]
    assert PAID == [("1", "news"), ("2", "news")]


@pytest.mark.usefixtures("contained")
def test_a_function_has_one_rule() -> None:
    with njrt.using(calls={charge: njrt.CallRule("deny")}):
        with pytest.raises(PermissionError, match="are not allowed"):
            post("results.append(charge(1))", [Mailer.send])
        with pytest.raises(njrt.ConfigurationError, match="another rule for charge"):
            post("results.append(charge(1))", {charge: njrt.CallRule("allow")})
    with njrt.using(calls={charge: njrt.CallRule("allow")}):
        assert post("results.append(charge(1))", {charge: njrt.CallRule("allow")}) == [1]


def test_rules_need_contained_code() -> None:
    with pytest.raises(njrt.ConfigurationError, match="contained"):
        post("results.append(charge(1))", [charge], policy="guarded")
    assert PAID == []


@pytest.mark.parametrize("calls", [[Mailer], [3], {charge: "deny"}, {3: njrt.CallRule()}])
def test_wrong_rules(calls: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match="calls is"):
        post("pass", calls)


class RemoteError(OSError):
    """An error like those of requests."""

    def __init__(self, *args: Any, response: object) -> None:
        self.response = response
        super().__init__(*args)


class UnpickledError(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("no pickles")


class SilentError(Exception):
    def __str__(self) -> str:
        raise TypeError("no text")


FAILURES = [
    (CardError(["stolen", 3]), ("at",)),
    (ImportError("no bank", name="bank", path="/bank.py"), ("name", "path", "msg")),
    (StopIteration(3), ("value",)),
    (FileNotFoundError(2, "No such file", "a.txt"), ("errno", "strerror", "filename")),
    (ValueError("plain"), ()),
    (json.JSONDecodeError("no value", "{", 1), ("pos", "lineno")),
    (RemoteError("down", response=None), ("response",)),
    (UnpickledError(3), ()),
]


@pytest.mark.parametrize(("error", "names"), FAILURES, ids=lambda each: type(each).__name__)
def test_a_stored_exception_has_its_attributes(error: Exception, names: tuple[str, ...]) -> None:
    stored = json.loads(json.dumps(failure_to_json(error)))
    read = failure_from_json(stored)
    assert (type(read), read.args, str(read)) == (type(error), error.args, str(error))
    assert [getattr(read, name) for name in names] == [getattr(error, name) for name in names]
    assert not hasattr(read, "unset")


UNSTORABLE = [
    (CardError(object()), "CardError: <object object at"),
    (ExceptionGroup("a", [ValueError()]), "ExceptionGroup: a"),
    (SilentError(), "SilentError: <its message cannot be shown: TypeError>"),
    (ValueError(10**5000), "ValueError: <its message cannot be shown: ValueError>"),
]


@pytest.mark.parametrize(("error", "text"), UNSTORABLE, ids=lambda each: type(each).__name__)
def test_an_exception_that_is_not_json_is_stored_as_a_text(error: Exception, text: str) -> None:
    read = failure_from_json(failure_to_json(error) | {"module": "gone"})
    assert type(read) is StepFailedError
    assert text in str(read)


def test_an_exception_of_an_earlier_version_is_read() -> None:
    place = {"module": __name__, "name": "CardError"}
    whole = place | {"args": ["no money"], "fields": {}, "at": "shop.py:3"}
    read = failure_from_json(whole | {"members": {"gone": 1, "reason": "lost"}})
    assert (type(read), read.args) == (CardError, ("no money",))
    text = {"module": "njrt.values.failures", "name": "StepFailedError", "args": ["CardError: x"]}
    like = place | {"text": "<object>", "fields": {"args": [1], "at": 3}}
    read = failure_from_json(text | {"fields": {}, "at": "", "like": like})
    assert isinstance(read, CardError)
    assert (str(read), read.at) == ("<object>", 3)
    assert str(failure_from_json(text | {"fields": {}, "at": ""})) == "CardError: x"


@pytest.mark.parametrize("mode", ["new", "all", "none"])
def test_no_message_leads_to_paying_twice(mode: Any, tmp_path: Path) -> None:
    """Neither a damaged line, nor another call, nor a changed prompt is answered by a new recording."""
    path = tmp_path / "shop.jsonl"
    play(LOOP, record=f"new:{path}", intercept=accept)
    whole = path.read_text()
    for damaged in (
        whole.replace('"state"', '"stat', 1),
        whole.replace('{"called"', '{"called', 1),
    ):
        path.write_text(damaged)
        with pytest.raises(njrt.NaturalError) as raised:
            play(LOOP, record=f"{mode}:{path}", intercept=accept)
        assert "make all its calls, again" in str(raised.value)
        assert "NJC_RECORD=all" not in str(raised.value)
    path.write_text(whole)
    if mode == "none":
        with njrt.using(record=f"none:{path}"), pytest.raises(njrt.NaturalError) as raised:
            carry_out(LOOP, orders=ORDERS[:1])
        assert "NJC_RECORD=all" not in str(raised.value)
    assert len(PAID) == 3
