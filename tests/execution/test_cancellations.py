"""Cancellations, timeouts and task groups: as in guarded code; one that the code causes is a mistake of the model."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest
from playing import carry_out

import njrt
from njrt.testing import run

CASES = [
    "async with asyncio.timeout(60): out = await wait(0)",
    "task = asyncio.create_task(wait(0))\nawait asyncio.sleep(0)\nout = await task",
    "task = asyncio.create_task(wait(60))\ntask.cancel()\ntry: await task\nexcept asyncio.CancelledError: out = 'cancelled'",
    "task = asyncio.create_task(wait(60))\ntask.cancel()\ntry: await task\nexcept Exception: out = 'caught'",
    "task = asyncio.create_task(wait(60))\ntask.cancel()\nawait task",
    "try:\n    async with asyncio.TaskGroup() as group:\n        group.create_task(fail(3))\n        await asyncio.sleep(60)\nexcept* ValueError as e: out = str(e.exceptions[0])",
    "try:\n    async with asyncio.TaskGroup() as group:\n        group.create_task(fail(3))\nexcept* ValueError as e: out = str(e.exceptions[0])",
    "try: await asyncio.wait_for(asyncio.sleep(60), 0.001)\nexcept TimeoutError: out = 'late'",
    "try: await asyncio.gather(fail(1), fail(2))\nexcept ValueError as e: out = str(e)",
    "out = await asyncio.gather(wait(0.01), wait(0))",
]


async def run_case(code: str, policy: Any) -> tuple[Any, ...]:
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def fail(number: int) -> None:
        await asyncio.sleep(0)
        raise ValueError(number)

    async def block() -> Any:
        out = None
        await njrt.arun(
            "natural\nUse <wait> and <fail> for <:out>.",
            lambda: (wait, fail, out),
            writes="out",
            at="case.njpy:1",
            policy=policy,
        )
        return out

    model = njrt.Scripted([run("import asyncio\n" + code, done=True), run("out = 'mistake'", done=True)])  # fmt: skip
    with njrt.using(model=model):
        try:
            return "ended", await asyncio.wait_for(block(), 20)
        except (Exception, asyncio.CancelledError) as error:
            return "raised", type(error).__name__


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("code", CASES)
def test_tasks_end_as_in_guarded_code(code: str) -> None:
    outcomes = [asyncio.run(run_case(code, policy)) for policy in ("guarded", "contained")]
    assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("contained")
def test_a_cancellation_from_outside_leaves_the_block() -> None:
    seen: list[Any] = []

    async def main() -> None:
        async def wait() -> None:
            seen.append("waiting")
            try:
                await asyncio.sleep(60)
            finally:
                seen.append("left")

        code = "try: await wait()\nexcept BaseException: await wait()"
        with njrt.using(model=njrt.Scripted([run(code, done=True)]), policy="contained"):
            block = njrt.arun("natural\nUse <wait>.", lambda: (wait,), at="case.njpy:1")
            task = asyncio.create_task(block)
            while "waiting" not in seen:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert seen == ["waiting", "left"]


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("try: fail()\nexcept ValueError: raise KeyError(1) from None", False),
        ("try: fail()\nexcept ValueError: raise KeyError(1)", True),
        ("try: fail()\nexcept ValueError:\n    try: fail()\n    except ValueError as e: raise e from None", None),
    ],
)  # fmt: skip
def test_raise_from_none_hides_the_context(code: str, shown: bool | None) -> None:
    def fail() -> None:
        raise ValueError("inner")

    with pytest.raises((KeyError, ValueError)) as caught:
        carry_out(code, fail=fail)
    assert caught.value.__suppress_context__ is not shown or shown is None
    text = "".join(traceback.format_exception(caught.value))
    if shown is not None:
        assert ("During handling" in text) is shown
    else:
        assert caught.value.__suppress_context__


OF_SYNC_CODE = [
    "raise asyncio.CancelledError()",
    "raise asyncio.CancelledError",
    "cancelled()",
    "try:\n    1 / 0\nexcept ZeroDivisionError:\n    cancelled()",
    "try:\n    cancelled()\nfinally:\n    xs.append(1)",
    "raise BaseExceptionGroup('two', [asyncio.CancelledError(), asyncio.CancelledError()])",
]
OF_ASYNC_CODE = [
    *OF_SYNC_CODE,
    "task = asyncio.create_task(asyncio.sleep(60))\ntask.cancel()\nawait task",
    "future = asyncio.ensure_future(asyncio.sleep(60))\nfuture.cancel()\nawait asyncio.gather(future)",
]


def cancelled() -> None:
    raise asyncio.CancelledError("of the program's function")


CODES = [*((code, False) for code in OF_SYNC_CODE), *((code, True) for code in OF_ASYNC_CODE)]


@pytest.mark.parametrize(("code", "is_async"), CODES)
def test_a_cancellation_of_the_code_is_a_mistake(code: str, is_async: bool, policy: Any) -> None:
    named: Any = {"is_async": is_async, "xs": (xs := []), "cancelled": cancelled}
    told = carry_out(f"import asyncio\n{code}", policy, then="xs.append(2)", **named)
    assert xs[-1] == 2
    assert "CancelledError" in told


def test_the_programs_own_cancellation_can_be_raised_again() -> None:
    own = asyncio.CancelledError("the program's")

    def handle() -> None:
        try:
            raise own
        except asyncio.CancelledError:
            if njrt.run("natural\nRaise it again.", lambda: (), at="a.njpy:1"):
                raise

    model = njrt.Scripted([run("raise", done=True)])
    with njrt.using(model=model), pytest.raises(asyncio.CancelledError) as raised:
        handle()
    assert raised.value is own
