"""A bare `raise` of a block, against the same statement in plain Python: the same exception leaves the program."""

from __future__ import annotations

import textwrap
import traceback
from typing import Any

import pytest
from scripted_programs import outcome_of

PRELUDE = """
import asyncio, contextlib
log = []
group = ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [ValueError(2), KeyError(3)]), OSError(4)])
def helper():
    @
def drive(coroutine): return asyncio.run(coroutine)
"""

PLACES = {
    "except": "try: raise group\nexcept ExceptionGroup: @",
    "except of one exception": "try: 1 / 0\nexcept ZeroDivisionError as error: @",
    "except after a cause": (
        "try:\n    try: 1 / 0\n    except ZeroDivisionError as error: raise KeyError(1) from error\nexcept KeyError: @"
    ),
    "nested except": (
        "try: raise group\nexcept ExceptionGroup:\n    try: {}[1]\n    except KeyError: @"
    ),
    "after a nested except": (
        "try: raise group\nexcept ExceptionGroup:\n    try: {}[1]\n    except KeyError: pass\n    @"
    ),
    "except in except*": "try: raise group\nexcept* ValueError:\n    try: {}[1]\n    except KeyError: @",
    "except*": "try: raise group\nexcept* ValueError: @",
    "except* of all": "try: raise group\nexcept* Exception: @",
    "except* with a name": "try: raise group\nexcept* ValueError as part: @",
    "except* of one exception": "try: raise ValueError(1)\nexcept* ValueError: @",
    "two except*, the first re-raises": (
        "try: raise group\nexcept* ValueError: @\nexcept* KeyError: log.append(1)"
    ),
    "two except*, both re-raise": "try: raise group\nexcept* ValueError: @\nexcept* OSError: @",
    "two except*, the second raises": (
        "try: raise group\nexcept* ValueError: @\nexcept* OSError: raise TypeError(5)"
    ),
    "except* in except*": "try: raise group\nexcept* ValueError:\n    try: raise ExceptionGroup('i', [OSError(6)])\n    except* OSError: @",
    "after an except* in except*": (
        "try: raise group\nexcept* ValueError:\n    try: raise ExceptionGroup('i', [OSError(6)])\n    except* OSError: pass\n    @"
    ),
    "loop in except*": "try: raise group\nexcept* ValueError:\n    for i in range(2):\n        @",
    "while in except*": "try: raise group\nexcept* ValueError:\n    while not log:\n        log.append(0)\n        @",
    "with in except*": "try: raise group\nexcept* ValueError:\n    with contextlib.nullcontext():\n        @",
    "suppressed in except*": (
        "try: raise group\nexcept* ValueError:\n    with contextlib.suppress(ExceptionGroup):\n        @"
    ),
    "try and finally in except*": "try: raise group\nexcept* ValueError:\n    try: @\n    finally: log.append(2)",
    "finally in except*": (
        "try: raise group\nexcept* ValueError:\n    try: raise KeyError(7)\n    finally: @"
    ),
    "match in except*": "try: raise group\nexcept* ValueError as part:\n    match part:\n        case _: @",
    "finally": "try: raise group\nfinally: @",
    "finally below except": "try: raise group\nexcept OSError: pass\nfinally: @",
    "finally in except": "try: raise group\nexcept ExceptionGroup:\n    try: pass\n    finally: @",
    "with in except": "try: raise group\nexcept ExceptionGroup:\n    with contextlib.nullcontext():\n        @",
    "function called in except": "try: raise group\nexcept ExceptionGroup: helper()",
    "function called in except*": "try: raise group\nexcept* ValueError: helper()",
    "function called in finally": "try: raise group\nfinally: helper()",
    "function in except*": (
        "try: raise group\nexcept* ValueError:\n    def inner():\n        @\n    inner()"
    ),
    "function with except* in except": (
        "try: raise group\nexcept ExceptionGroup:\n    def inner():\n        try: raise group\n        except* ValueError: @\n    inner()"
    ),
    "class body in except*": "try: raise group\nexcept* ValueError:\n    class Inner:\n        @",
    "class body in except": "try: 1 / 0\nexcept ZeroDivisionError:\n    class Inner:\n        @",
    "generator in except": "def items():\n    try: raise group\n    except ExceptionGroup: @\n    yield 1\nlist(items())",
    "generator in except*": "def items():\n    try: raise group\n    except* ValueError: @\n    yield 1\nlist(items())",
    "generator that an except* runs": "def items():\n    @\n    yield 1\ntry: raise group\nexcept* ValueError: list(items())",
    "async, except*": "async def main():\n    try: raise group\n    except* ValueError:\n        await asyncio.sleep(0)\n        @\ndrive(main())",
    "async, except": "async def main():\n    try: 1 / 0\n    except ZeroDivisionError:\n        await asyncio.sleep(0)\n        @\ndrive(main())",
    "async, a task in except*": (
        "async def main():\n    try: raise group\n    except* ValueError:\n        @\nasyncio.run(main())"
    ),
}  # fmt: skip

CODES = {
    "raise": "raise",
    "in a suite": "if group:\n    raise",
    "in a loop": "for number in range(3):\n    raise",
    "with finally": "try:\n    raise\nfinally:\n    log.append(3)",
    "after an own exception": "try:\n    int('x')\nexcept ValueError:\n    log.append(4)\nraise",
    "in an own handler": "try:\n    raise\nexcept Exception:\n    raise",
    "caught": "try:\n    raise\nexcept Exception as error:\n    log.append(type(error))",
}


def write(place: str, code: str, natural: bool) -> str:
    """Write the program, in a function and with what leaves it in RESULT."""
    block = (
        f'"""natural\nRaise, or use <log> and <group>.\n---\n{code}\n---\n"""' if natural else code
    )
    rows = []
    for row in (PRELUDE + "def program():\n" + textwrap.indent(PLACES[place], "    ")).splitlines():
        before, at, after = row.partition("@")
        assert not after
        indent = " " * (len(row) - len(row.lstrip()))
        if not at:
            rows.append(row)
        elif before.strip():
            rows += [before, textwrap.indent(block, indent + "    ")]
        else:
            rows.append(textwrap.indent(block, indent))
    return "\n".join(
        [
            *rows,
            "RESULT = None",
            "try: program()",
            "except BaseException as error: RESULT = error",
        ]
    )


def describe(error: BaseException | None, known: list[BaseException], depth: int = 0) -> Any:
    """What a program could see of an exception: its parts, what is around it, and whether it has its traceback."""
    if error is None or depth > 5:
        return None
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    # Python leaves the frame of a bare `raise` out of the traceback, a block has it in.
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    return (
        type(error),
        error.message if isinstance(error, BaseExceptionGroup) else error.args,
        [any(error is leaf for leaf in known), getattr(error, "__notes__", [])],
        "program" in frames,
        [describe(part, known, depth + 1) for part in parts],
        describe(error.__cause__, known, depth + 1),
        describe(error.__context__, known, depth + 1),
        error.__suppress_context__,
    )


def list_leaves(error: BaseException) -> list[BaseException]:
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return [error, *(leaf for part in parts for leaf in list_leaves(part))]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("code", CODES)
def test_the_same_exception_leaves_the_program(place: str, code: str) -> None:
    plain: dict[str, Any] = {"__name__": "scripted_program"}
    exec(compile(write(place, CODES[code], False), "program.py", "exec"), plain)
    natural = outcome_of(write(place, CODES[code], True))
    found = describe(natural["RESULT"], list_leaves(natural["group"]))
    assert found == describe(plain["RESULT"], list_leaves(plain["group"]))
    assert natural["log"] == plain["log"]
