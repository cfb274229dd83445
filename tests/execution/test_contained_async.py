"""Cancellations, timeouts and task groups in contained code: as in guarded code."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import pytest
from playing import carry_out

import njrt
from njrt.testing import run

pytestmark = pytest.mark.usefixtures("contained")

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


@pytest.mark.parametrize("code", CASES)
def test_tasks_end_as_in_guarded_code(code: str) -> None:
    outcomes = [asyncio.run(run_case(code, policy)) for policy in ("guarded", "contained")]
    assert outcomes[0] == outcomes[1]


def test_a_cancellation_from_outside_leaves_the_block() -> None:
    seen: list[Any] = []

    async def main() -> None:
        async def wait() -> None:
            seen.append("waiting")
            try:
                await asyncio.sleep(60)
            finally:
                seen.append("left")

        async def block() -> None:
            await njrt.arun(
                "natural\nUse <wait>.", lambda: (wait,), at="case.njpy:1", policy="contained"
            )

        code = "try: await wait()\nexcept BaseException: await wait()"
        with njrt.using(model=njrt.Scripted([run(code, done=True)])):
            task = asyncio.create_task(block())
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
