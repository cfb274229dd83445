"""The type that the code after a block states for an output without a type: it is sent, enforced and in `types=`."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest

import njrt
from compiling import compile_output
from njrt import testing
from njrt.messages import Request, UserMessage

BLOCK = '"""natural\n    Put a number into <:x>.\n    """'
TAIL = "return x"

STATED = {
    "the result": ("def f() -> int:", TAIL, "int"),
    "a quoted result": ("def f() -> 'list[Cart]':", TAIL, "list[Cart]"),
    "an asynchronous function's": ("async def f() -> int:", TAIL, "int"),
    "an annotated assignment": ("def f():", "y: int = x\n    return y", "int"),
    "the first statement that states": ("def f() -> str:", "y: int = x\n    return x", "int"),
    "after a use": ("def f() -> int:", "print(x)\n    assert x\n    return x", "int"),
    "after a branch without a jump": (
        "def f() -> int:",
        "if x is None:\n        print(x)\n    return x",
        "int",
    ),
    "after a definition": ("def f() -> int:", "def g():\n        return x\n    return x", "int"),
    "bound before, too": ("def f():\n    x = None\n    print(x)", "y: int = x", "int"),
    "of a parameter": ("def f(x) -> int:", TAIL, "int"),
    "a function": ("def f() -> Callable[[str], int]:", TAIL, "Callable[[str], int]"),
    "in a class": ("class A:", "y: ClassVar[int] = x", "int"),
    "no annotation": ("def f():", TAIL, None),
    "another value": ("def f() -> int:", "return x + 1", None),
    "a declared type": ("def f() -> int:\n    x: str", TAIL, "str"),
    "any type": ("def f() -> Any:", TAIL, None),
    "a generator": ("def f() -> 'Generator[int, int, int]':\n    yield 1", TAIL, None),
    "behind a branch": ("def f() -> int:", "if x is not None:\n        return x", None),
    "after a return": ("def f() -> int:", "if x is None:\n        return 0\n    return x", None),
    "after a raise": ("def f() -> int:", "if not x:\n        raise E\n    return x", None),
    "after a block": ("def f() -> int:", f"{BLOCK.replace(':x', 'x')}\n    return x", None),
    "bound again": ("def f() -> int:", "x = int(x)\n    return x", None),
    "bound in a branch": ("def f() -> int:", "if not x:\n        x = 0\n    return x", None),
    "caught": (
        "def f() -> int:",
        "try:\n        print(x)\n    except E as x:\n        pass\n    return x",
        None,
    ),
    "bound by another function": (
        "def f() -> int:",
        "def g():\n        nonlocal x\n        x = 1\n    g()\n    return x",
        None,
    ),
    "global": ("def f() -> int:\n    global x", TAIL, None),
    "two blocks that disagree": (
        "def f() -> int:",
        f"y: str = x\n    {BLOCK}\n    return x",
        None,
    ),
    "two blocks that agree": ("def f() -> int:", f"y: int = x\n    {BLOCK}\n    return x", "int"),
    "another meaning in the block": ("class A:\n  T = int\n  def f(self) -> T:", TAIL, None),
}


@pytest.mark.parametrize(("head", "below", "type_"), STATED.values(), ids=STATED)
def test_stated_type(head: str, below: str, type_: str | None) -> None:
    text = f"from typing import Any\n{head}\n    {BLOCK}\n    {below}\n"
    found = re.search(r'types=lambda: \{"x": (.*)\}', compile_output(text).decode())
    assert (found and found[1]) == type_


def run(text: str, replies: list[object]) -> tuple[object, list[str]]:
    """Compile and call `f`; return its result, and the last message of each request."""
    output = compile_output(text)
    module = ModuleType("stated_program")
    sys.modules[module.__name__] = module
    exec(output, vars(module))
    shown: list[str] = []
    waiting = iter(replies)

    def answer(request: Request) -> Any:
        last = request.messages[-1]
        shown.append(last.text if isinstance(last, UserMessage) else str(last))
        return next(waiting)

    with njrt.using(model=njrt.Scripted(answer)):
        return vars(module)["f"](), shown


def test_a_stated_type_is_sent_and_enforced() -> None:
    text = f"def f() -> int:\n    {BLOCK}\n    return x\n"
    result, shown = run(text, [{"x": "seven"}, {"x": 7}])
    assert result == 7
    assert '{"x": integer}' in shown[0]
    assert "valid integer" in shown[1]


def test_a_stated_function_has_its_parameters() -> None:
    text = (
        "from collections.abc import Callable\n"
        f"def f() -> Callable[[str], int]:\n    {BLOCK}\n    return x\n"
    )
    result, shown = run(
        text,
        [
            testing.run("x = lambda: 3", done=True),
            testing.run("def x(text):\n    return len(text)", done=True),
        ],
    )
    assert callable(result)
    assert result("four") == 4
    assert "def x(str) -> int: ..." in shown[0]
    assert "does not take 1 argument" in shown[1]
