"""Durable workflows, as in docs/durable.md: what was asked, decided and done before a crash is not asked, decided and done again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS, PortableWorkflowError
from polling import replay

import njrt
from njrt import durable
from njrt.decisions import Accept, PendingEffect, Reject
from njrt.durable.calls import format_failure, format_reply, read_reply
from njrt.durable.workflows import check_sqlite
from njrt.errors import BudgetError, RecordingMismatchError, ServerError, StoreError
from njrt.messages import ModelMessage, Reply, Request, Usage, UserMessage
from njrt.models.scripted import Scripted, run

REQUEST = Request("", (UserMessage("How many?"),), place="mail.njpy:3")


def list_steps(identity: str) -> list[str]:
    return [step["function_name"] for step in DBOS.list_workflow_steps(identity)]


# --- what is stored


def test_a_reply_is_stored_and_read() -> None:
    reply = Reply(ModelMessage("3"), "end", Usage(10, 2, 1, 0.5), "m")
    read = read_reply(REQUEST, format_reply(REQUEST, reply))
    assert (read.message.text, read.usage, read.model, read.source) == (
        "3",
        reply.usage,
        "m",
        "recording",
    )


@pytest.mark.parametrize(
    "error", [ServerError("down"), BudgetError("too much"), njrt.ReplyError("empty")]
)
def test_a_failure_is_stored_and_raised_again(error: njrt.NaturalError) -> None:
    error.place = "mail.njpy:3"
    with pytest.raises(type(error), match=str(error)) as caught:
        read_reply(REQUEST, format_failure(REQUEST, error))
    assert caught.value.place == "mail.njpy:3"


def test_a_stored_reply_of_another_conversation_is_refused() -> None:
    other = Request("", (UserMessage("How few?"),), place="mail.njpy:9")
    with pytest.raises(
        RecordingMismatchError, match=r"mail.njpy:9: a model call differs from the step"
    ):
        read_reply(other, format_reply(REQUEST, Reply(ModelMessage("3"))))


# --- in one process


def test_calls_decisions_and_effects_are_steps(workflows: str) -> None:
    asked: list[str] = []
    paid: list[tuple[str, str]] = []

    @durable.effect
    def pay(name: str) -> str:
        paid.append((durable.effect_key(), name))
        return "receipt"

    def decide(pending: PendingEffect) -> Accept:
        asked.append(pending.place)
        return Accept()

    @durable.workflow
    def settle(name: str) -> list[str]:
        with njrt.using(model=Scripted(["3"]), intercept=decide):
            return [njrt.llm(f"How many {name}?"), pay(name), pay(name)]

    for _ in range(2):
        with durable.workflow_id("one"):
            assert settle("apples") == ["3", "receipt", "receipt"]
    assert len(asked) == 1
    keys, names = zip(*paid, strict=True)
    assert names == ("apples", "apples")
    assert len(set(keys)) == 2
    assert all(key.startswith("one/") for key in keys)
    assert list_steps("one") == [
        "decision decide", "model call",
        "effect pay begins", "effect pay", "effect pay begins", "effect pay",
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["guarded", "contained"])
def test_calls_of_gated_functions_are_steps(workflows: str, policy: str) -> None:
    paid: list[tuple[str, str]] = []
    asked: list[str] = []

    @njrt.gated
    def pay(name: str) -> str:
        paid.append((njrt.call_key(), name))
        return f"receipt {name}"

    def decide(pending: PendingEffect) -> Accept:
        asked.append(type(pending.effect).__name__)
        return Accept()

    @durable.workflow
    def settle(names: list[str]) -> list[str]:
        receipts: list[str] = []
        code = "for name in names:\n    receipts.append(pay(name))"
        with njrt.using(model=Scripted([run(code, done=True)]), intercept=decide, policy=policy):
            njrt.run(
                "natural\nPay <names> by <pay> into <receipts>.",
                lambda: (names, pay, receipts),
                at="shop.njpy:1",
            )
        return receipts

    for _ in range(2):
        with durable.workflow_id(f"gated-{policy}"):
            assert settle(["apples", "pears"]) == ["receipt apples", "receipt pears"]
    assert asked == ["Run", "Touch", "Touch"]
    assert [name for _, name in paid] == ["apples", "pears"]
    assert all(key.startswith(f"gated-{policy}/") for key, _ in paid)
    assert list_steps(f"gated-{policy}")[-3:] == [
        "decision decide", "effect pay begins", "effect pay",
    ]  # fmt: skip


def test_traces_say_which_replies_are_live(workflows: str, tmp_path: Path) -> None:
    @durable.workflow
    def count(trace: str) -> str:
        with njrt.using(model=Scripted(["3"]), trace=trace):
            return njrt.llm("How many?")

    @durable.workflow
    async def acount(trace: str) -> str:
        with njrt.using(model=Scripted(["3"]), trace=trace):
            return await njrt.allm("How many?")

    def read_sources(trace: Path) -> list[str]:
        lines = map(json.loads, trace.read_text().splitlines())
        return [line["source"] for line in lines if line["event"] == "replied"]

    assert count(str(tmp_path / "t.jsonl")) == "3"
    assert read_sources(tmp_path / "t.jsonl") == ["script"]
    assert asyncio.run(acount(str(tmp_path / "a.jsonl"))) == "3"
    assert read_sources(tmp_path / "a.jsonl") == ["script"]


def test_async_workflows(workflows: str) -> None:
    @durable.effect
    async def pay(name: str) -> str:
        await asyncio.sleep(0)
        return f"{name} {durable.effect_key()}"

    async def decide(pending: PendingEffect) -> Accept:
        await asyncio.sleep(0)
        return Accept()

    @durable.workflow
    async def settle(name: str) -> list[str]:
        with njrt.using(model=Scripted(["3"]), intercept=decide):
            return [await njrt.allm(f"How many {name}?"), await pay(name)]

    async def call() -> list[str]:
        with durable.workflow_id("two"):
            return await settle("apples")

    assert asyncio.run(call()) == ["3", "apples two/3"]
    assert list_steps("two") == ["decision decide", "model call", "effect pay begins", "effect pay"]


def test_a_failed_call_is_a_step_that_the_workflow_can_catch(workflows: str) -> None:
    @durable.workflow
    def settle() -> str:
        with njrt.using(model=Scripted([ServerError("down"), "3"])):
            try:
                return str(njrt.llm("How many?"))
            except ServerError:
                return str(njrt.llm("How many, please?"))

    with durable.workflow_id("three"):
        assert settle() == "3"
    assert list_steps("three") == ["model call", "model call"]


def test_a_budget_is_charged_once(workflows: str) -> None:
    reply = Reply(ModelMessage("3"), usage=Usage(100, 0, 0, 0.0))

    @durable.workflow
    def settle() -> str:
        with njrt.using(
            model=Scripted([reply]), store="memory:", budget="tokens=9000 per=total name=durable"
        ):
            return str(njrt.llm("How many?"))

    for _ in range(3):
        with durable.workflow_id("four"):
            assert settle() == "3"
    from njrt.session.layered_model import get_ledger

    states = [
        stored.state for stored in get_ledger("memory:").list_accounts() if stored.name == "durable"
    ]
    assert [(state.calls, state.tokens) for state in states] == [(1, 100)]


def test_calls_with_one_id_are_one_workflow(workflows: str) -> None:
    paid: list[int] = []

    @durable.effect
    def pay(number: int) -> str:
        paid.append(number)
        return f"paid {number}"

    @durable.workflow
    def settle(number: int) -> str:
        return pay(number)

    with durable.workflow_id("once"):
        assert [settle(1), settle(1)] == ["paid 1", "paid 1"]
    with durable.workflow_id("once"):
        assert settle(1) == "paid 1"
    with durable.workflow_id("another"):
        assert settle(1) == "paid 1"
    assert paid == [1, 1]


@pytest.mark.parametrize("name", [17, "", " ", "caf\udce9"])
def test_what_is_no_id_is_refused(name: Any) -> None:
    with (
        pytest.raises(njrt.ConfigurationError, match="the id of a workflow is a text, not"),
        durable.workflow_id(name),
    ):
        pass


def test_an_effect_may_change_its_arguments(workflows: str) -> None:
    @durable.effect
    def take(items: list[int]) -> int:
        return items.pop()

    @durable.effect
    def note() -> int:
        return 7

    @durable.workflow
    def take_and_note() -> list[int]:
        return [take([1, 2, 3]), note()]

    with durable.workflow_id("take"):
        assert take_and_note() == [3, 7]
    assert replay("take", 3) == [3, 7]


def test_outside_of_workflows_effects_are_plain_functions() -> None:
    assert durable.effect(lambda: durable.effect_key())() == ""


def test_without_the_package_the_extra_is_named() -> None:
    program = "import sys; sys.modules['dbos'] = None; from njrt import durable; durable.launch('sqlite:///x')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100
    )
    assert 'pip install "njpy[durable]"' in done.stderr, "this repository is installed as njpy"


def test_a_rejection_is_stored_too(workflows: str) -> None:
    @durable.workflow
    def settle() -> str:
        with njrt.using(model=Scripted(["3", "4"]), intercept=lambda pending: Reject("no")):
            try:
                return str(njrt.llm("How many?"))
            except njrt.NaturalError as error:
                return type(error).__name__

    with durable.workflow_id("five"):
        first = settle()
    with durable.workflow_id("five"):
        assert settle() == first


# --- what the program sees is the same in the first run and in later ones


class ShopError(Exception):
    """An exception of the program, with an attribute."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, code)
        self.code = code


def raise_shop_error() -> None:
    raise ShopError("closed", 7)


def raise_key_error() -> None:
    raise KeyError("sky", 3)


def raise_os_error() -> None:
    raise FileNotFoundError(2, "No such file", "a.txt")


def raise_stop_iteration() -> None:
    raise StopIteration(3)


def raise_decode_error() -> None:
    json.loads("{")


def raise_surrogate() -> None:
    raise FileNotFoundError(2, "No such file", "caf\udce9")


class SilentError(Exception):
    def __str__(self) -> str:
        raise TypeError("no text")


def raise_silent_error() -> None:
    raise SilentError


def raise_local_error() -> None:
    class LocalError(Exception):
        pass

    raise LocalError("hidden")


def raise_unstorable_error() -> None:
    raise ValueError(object())


def raise_group() -> None:
    raise ExceptionGroup("several", [ValueError("a")])


def return_a_pair() -> Any:
    return (1, {"b": (2,)})


def return_no_json() -> Any:
    return object()


def return_a_surrogate() -> Any:
    return "\ud800\0"


SEEN = {
    raise_shop_error: "ShopError ('closed', 7) 7",
    raise_key_error: "KeyError ('sky', 3)",
    raise_os_error: "FileNotFoundError (2, 'No such file') a.txt",
    raise_stop_iteration: "StopIteration (3,)",
    raise_decode_error: "JSONDecodeError ('Expecting property name",
    raise_surrogate: "FileNotFoundError (2, 'No such file') caf\udce9",
    raise_silent_error: "StepFailedError ('SilentError: <its message cannot be shown: TypeError>',)",
    raise_local_error: "StepFailedError ('raise_local_error.<locals>.LocalError: hidden',)",
    raise_unstorable_error: "StepFailedError ('ValueError: <object object",
    raise_group: "StepFailedError ('ExceptionGroup: several (1 sub-exception)',)",
    return_a_pair: [1, {"b": [2]}],
    return_no_json: "ConfigurationError ('the result of the effect return_no_json cannot be stored",
    return_a_surrogate: "\ud800\0",
}


def describe(error: Exception) -> str:
    code = getattr(error, "code", "") or getattr(error, "filename", "")
    return f"{type(error).__name__} {error.args} {code}"


@pytest.mark.parametrize("function", SEEN, ids=lambda function: function.__name__)
def test_results_and_exceptions_of_effects(workflows: str, function: Callable[[], Any]) -> None:
    seen: list[Any] = []
    call = durable.effect(function)

    @durable.workflow
    def settle() -> None:
        try:
            seen.append(call())
        except Exception as error:
            seen.append(describe(error))

    identity = f"seen {function.__name__}"
    with durable.workflow_id(identity):
        settle()
    replay(identity, 9)
    expected = SEEN[function]
    assert seen[0] == seen[1]
    assert seen[0][: len(expected)] == expected


@pytest.mark.parametrize(
    "function", [raise_surrogate, raise_silent_error], ids=lambda function: function.__name__
)
def test_odd_exceptions_of_workflows(workflows: str, function: Callable[[], Any]) -> None:
    @durable.workflow
    def settle() -> None:
        function()

    for _ in range(2):
        with (
            durable.workflow_id(f"odd {function.__name__}"),
            pytest.raises(Exception) as caught,  # noqa: PT011
        ):
            settle()
        assert describe(caught.value).startswith(SEEN[function])


@pytest.mark.parametrize(
    ("code", "seen"), [(None, None), (0, 0), (3, 3), ("closed", "closed"), ("caf\udce9", "caf?"), ({1}, "{1}")]
)  # fmt: skip
def test_a_workflow_ends_with_the_program(workflows: str, code: Any, seen: Any) -> None:
    ran: list[Any] = []

    @durable.workflow
    def leave() -> None:
        ran.append(code)
        sys.exit(code)

    @durable.workflow
    def call_leave() -> None:
        leave()

    for _ in range(2):
        with durable.workflow_id(f"leave {code!r:.9}"), pytest.raises(SystemExit) as caught:
            call_leave()
        assert caught.value.code == seen
    assert ran == [code]
    assert list_unfinished() == []


class LateModel(Scripted):
    """Replies late, as long as something is in `late`."""

    def __init__(self, replies: list[Any], late: list[float]) -> None:
        super().__init__(replies)
        self.late = late

    def ask(self, request: Request) -> Reply:
        never.wait(self.late.pop() if self.late else 0)
        return super().ask(request)


never = threading.Event()


@pytest.mark.parametrize("is_around", [False, True])
def test_a_time_limit_is_reached_again_after_a_crash(workflows: str, is_around: bool) -> None:
    seen: list[str] = []
    late = [0.3]

    def count(name: str, **limit: float) -> int:
        number = 0
        njrt.run(
            f"natural\nCount the {name} in <:number>.",
            lambda: (number,),
            writes="number",
            at="shop.njpy:3",
            effects="direct",
            **limit,
        )
        return number

    @durable.workflow
    def settle() -> int:
        around = njrt.limit(seconds=0.25) if is_around else contextlib.nullcontext()
        model = LateModel([run("number = 3", done=True), run("number = 4", done=True)], late)
        with njrt.using(model=model):
            try:
                with around:
                    return count("apples", **({} if is_around else {"max_seconds": 0.25}))
            except njrt.TimeLimitError as error:
                seen.append(str(error))
            return count("pears")

    identity = f"late {is_around}"
    with durable.workflow_id(identity):
        assert settle() == 4
    assert replay(identity, 3) == 4
    assert len(seen) == 2
    assert seen[0] == seen[1]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_branch_ends_the_program_after_all_branches(workflows: str, is_async: bool) -> None:
    ran: list[int] = []

    def count(number: int) -> int:
        ran.append(number)
        return number if number != 1 else sys.exit(7)

    async def acount(number: int) -> int:
        await asyncio.sleep(0)
        return count(number)

    @durable.workflow
    def settle() -> list[int]:
        return durable.map(count, range(3))

    @durable.workflow
    async def asettle() -> list[int]:
        return await durable.gather(*map(acount, range(3)))

    with durable.workflow_id(f"branches {is_async}"), pytest.raises(SystemExit) as caught:
        asyncio.run(asettle()) if is_async else settle()
    assert (caught.value.code, sorted(ran)) == (7, [0, 1, 2])
    assert list_unfinished() == []


def test_an_interrupt_leaves_the_workflow_to_the_next_launch(workflows: str) -> None:
    interrupts = [True]

    @durable.workflow
    def settle() -> str:
        if interrupts:
            raise KeyboardInterrupt(interrupts.pop())
        return "settled"

    with durable.workflow_id("interrupted"), pytest.raises(KeyboardInterrupt):
        settle()
    assert list_unfinished() == ["interrupted"]
    durable.take_over("local")
    assert DBOS.retrieve_workflow("interrupted").get_result() == "settled"
    assert list_unfinished() == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_interrupted_workflow_is_continued_by_the_next_call(
    workflows: str, is_async: bool
) -> None:
    """As in a notebook, after Ctrl-C: the call must not wait for a run that has ended."""
    ran: list[int] = []

    @durable.workflow
    def settle() -> int:
        ran.append(len(ran))
        if len(ran) == 1:
            raise KeyboardInterrupt
        return len(ran)

    @durable.workflow
    async def asettle() -> int:
        ran.append(len(ran))
        if len(ran) == 1:
            raise KeyboardInterrupt
        return len(ran)

    def call() -> int:
        with durable.workflow_id(f"stopped {is_async}"):
            return asyncio.run(asettle()) if is_async else settle()

    with pytest.raises(KeyboardInterrupt):
        call()
    assert [call(), call(), ran] == [2, 2, [0, 1]]
    assert list_unfinished() == []


@pytest.mark.parametrize("kind", ["plain", "async", "nested"])
def test_a_database_that_fails_interrupts_the_workflow(workflows: str, kind: str) -> None:
    """For example if the disk is full: no code catches this, and it is not stored as the workflow's end."""
    paid: list[int] = []
    caught: list[BaseException] = []

    def execute(statement: str) -> None:
        with contextlib.closing(sqlite3.connect(workflows.removeprefix("sqlite:///"))) as database:
            database.execute(statement)

    def find(key: str) -> int | None:
        return paid[-1] if len(paid) == 2 else None

    @durable.effect(find=find)
    def pay(number: int) -> int:
        paid.append(number)
        if len(paid) == 2:
            execute("ALTER TABLE operation_outputs RENAME TO lost")
        return number

    @durable.effect(find=find)
    async def apay(number: int) -> int:
        return pay(number)

    @durable.workflow
    def settle() -> list[int]:
        try:
            return [pay(1), pay(2), pay(3)]
        except Exception as error:
            caught.append(error)
            return []

    @durable.workflow
    async def asettle() -> list[int]:
        try:
            return [await apay(1), await apay(2), await apay(3)]
        except Exception as error:
            caught.append(error)
            return []

    @durable.workflow
    def call_settle() -> list[int]:
        return settle()

    call = {"plain": settle, "async": lambda: asyncio.run(asettle()), "nested": call_settle}[kind]
    identity = f"lost {kind}"
    with durable.workflow_id(identity), pytest.raises(StoreError, match=r"no such table: .*; once"):
        call()
    execute("ALTER TABLE lost RENAME TO operation_outputs")
    assert identity in list_unfinished()
    if kind == "nested":
        durable.take_over("local")  # also the inner workflow
        assert DBOS.retrieve_workflow(identity).get_result() == [1, 2, 3]
    else:
        with durable.workflow_id(identity):
            assert call() == [1, 2, 3]
    assert (paid, caught, list_unfinished()) == ([1, 2, 3], [], [])


def list_unfinished() -> list[str]:
    return [each.workflow_id for each in DBOS.list_workflows(status=["PENDING", "ENQUEUED"])]


def test_the_traceback_of_an_effect_is_noted(workflows: str) -> None:
    @durable.workflow
    def settle() -> None:
        durable.effect(raise_shop_error)()

    with durable.workflow_id("note"), pytest.raises(ShopError) as caught:
        settle()
    assert "raised in a step of a workflow, at test_durable.py:" in caught.value.__notes__[0]


def test_arguments_and_results_of_workflows(workflows: str) -> None:
    seen: list[Any] = []

    @durable.workflow
    def inner(pair: Any, *, day: date) -> Any:
        seen.append((pair, day))
        return (pair, 3)

    @durable.workflow
    def outer(pair: Any) -> Any:
        return inner(pair, day=date(2026, 3, 1))

    with durable.workflow_id("pairs"):
        assert outer((1, 2)) == [[1, 2], 3]
    assert seen == [([1, 2], date(2026, 3, 1))]
    assert replay("pairs", 9) == [[1, 2], 3]


def test_dates_are_after_a_crash_what_they_were_before(workflows: str) -> None:
    """A date is a text but for the annotations that DBOS knows, also in the first run."""
    seen: list[Any] = []

    @durable.workflow
    def settle(
        day: date, at: datetime, maybe: date | None, *others: Any, **named: datetime
    ) -> None:
        seen.append((day, at, maybe, others, named))

    day, at = date(2026, 3, 1), datetime(2026, 3, 1, 9, 30, 0, 123456)
    with durable.workflow_id("dates"):
        settle(day, at, day, at, "2026-03-01", named=day)  # type: ignore[arg-type]
    replay("dates", 0)
    assert seen[0] == seen[1]
    assert seen[0][:3] == (day, at.replace(microsecond=123000, tzinfo=UTC), "2026-03-01")
    with pytest.raises(njrt.ConfigurationError, match="cannot be stored as JSON"):
        settle(day, at, None, time(9, 30))


@pytest.mark.parametrize("is_async", [False, True])
def test_an_exception_of_a_workflow_is_raised_by_each_call(workflows: str, is_async: bool) -> None:
    caught: list[str] = []

    @durable.workflow
    def inner() -> None:
        raise_shop_error()

    @durable.workflow
    async def ainner() -> None:
        raise_shop_error()

    @durable.workflow
    def outer() -> None:
        try:
            inner()
        except ShopError as error:
            caught.append(describe(error))
        raise_key_error()

    @durable.workflow
    async def aouter() -> None:
        try:
            await ainner()
        except ShopError as error:
            caught.append(describe(error))
        raise_key_error()

    async def acall() -> None:
        with durable.workflow_id("async failing"):
            await aouter()

    for _ in range(2):
        with durable.workflow_id("failing"), pytest.raises(KeyError, match="sky"):
            asyncio.run(acall()) if is_async else outer()
    with pytest.raises(PortableWorkflowError):
        replay("async failing" if is_async else "failing", 9)
    assert caught == ["ShopError ('closed', 7) 7"] * 2


def test_other_arguments_than_before_are_refused(workflows: str) -> None:
    cents = iter([1, 2])
    paid: list[int] = []

    @durable.effect
    def pay(cents: int) -> None:
        paid.append(cents)

    @durable.workflow
    def settle() -> None:
        pay(next(cents))

    with durable.workflow_id("arguments"):
        settle()
    with pytest.raises(PortableWorkflowError, match="effect pay differs from"):
        replay("arguments", 9)
    assert paid == [1]


def test_another_step_than_before_is_refused(workflows: str) -> None:
    names = iter(["pay", "refund"])

    @durable.workflow
    def settle() -> None:
        name = next(names)
        function: Any = lambda: None  # noqa: E731
        function.__name__ = name
        durable.effect(function)()

    with durable.workflow_id("other step"):
        settle()
    with pytest.raises(PortableWorkflowError, match="Either the program has changed"):
        replay("other step", 9)


def test_find_may_be_async(workflows: str) -> None:
    done: list[str] = []

    async def find(key: str) -> str | None:
        return "found" if key in done else None

    @durable.effect(find=find)
    async def pay() -> str:
        done.append(durable.effect_key())
        return "paid"

    @durable.workflow
    async def settle() -> str:
        return await pay()

    async def call() -> str:
        with durable.workflow_id("async find"):
            return await settle()

    assert asyncio.run(call()) == "paid"
    assert replay("async find", 2) == "found"
    assert replay("async find", 1) == "paid"
    assert [key.split("/")[1] for key in done] == ["1", "1"]


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, "\ud800", {"a": [b"c"]}],
    ids=["object", "keys", "surrogate", "bytes"],
)
def test_what_cannot_be_stored_is_refused(workflows: str, value: Any) -> None:
    calls: list[Any] = []

    @durable.workflow
    def take(value: Any) -> None:
        calls.append(value)

    @durable.workflow
    def give() -> Any:
        return value

    with pytest.raises(njrt.ConfigurationError, match=r"an argument of .*take cannot be stored as"):
        take(value)
    with pytest.raises(njrt.ConfigurationError, match=r"the result of .*give cannot be stored as"):
        give()
    assert calls == []


def test_versions_of_sqlite_that_dbos_cannot_use_are_an_error_of_the_launch() -> None:
    with pytest.raises(njrt.ConfigurationError, match=r"needs SQLite 3\.42, and this is 3\.40\.1"):
        check_sqlite((3, 12), (3, 40, 1))
    check_sqlite((3, 11), (3, 40, 1))
    check_sqlite((3, 13), (3, 42, 0))


# --- databases that cannot be used

LAUNCH_AGAIN = """
from njrt import durable
from njrt.errors import ConfigurationError

@durable.workflow
def settle() -> int:
    return 3

for url in URLS:
    try:
        durable.launch(url)
        print(settle())
    except ConfigurationError as error:
        print(error)
"""


def test_a_launch_that_fails_does_not_change_the_next_one(tmp_path: Path) -> None:
    urls = [
        "workflows.sqlite3",
        "sqlite://",
        "sqlite:///gone/x",
        "sqlite:///.",
        "sqlite:///good",
        "sqlite:///other",
    ]
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH_AGAIN.replace("URLS", repr(urls))],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == lines[1]
    assert lines[0].startswith("workflows need a database that is not in memory; write sqlite:///")
    assert lines[2].startswith("the database of workflows sqlite:///gone/x cannot be used: ")
    assert lines[3].startswith("the database of workflows sqlite:///. cannot be used: unable")
    assert lines[4] == "3"
    assert lines[5].startswith("workflows of another database run in this process")
    assert not (tmp_path / "other").exists()


def test_questions_of_a_database_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(njrt.ConfigurationError, match=r"cannot be used: .*No such file"):
        durable.list_questions(f"sqlite:///{tmp_path}/gone")
    assert not (tmp_path / "gone").exists()
    (tmp_path / "empty").touch()
    with pytest.raises(njrt.ConfigurationError, match="cannot be used: no such table"):
        durable.list_questions(f"sqlite:///{tmp_path}/empty")
