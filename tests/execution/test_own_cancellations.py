"""A CancelledError that a block's code raises or causes is a mistake, reported to the model."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from playing import carry_out

import njrt
from njrt.testing import run

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
    seen: list[BaseException | None] = []
    own = asyncio.CancelledError("the program's")
    with njrt.using(model=njrt.Scripted([run("raise", done=True)])):
        try:
            try:
                raise own
            except asyncio.CancelledError:
                if njrt.run("natural\nRaise it again.", lambda: (), at="a.njpy:1"):
                    raise
        except asyncio.CancelledError:
            seen.append(sys.exception())
    assert seen == [own]
