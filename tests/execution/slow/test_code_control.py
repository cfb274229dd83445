"""Control: jumps, exceptions, values, print, and what is refused or fails."""

# The variables that only snippets bind look undefined and unused to ruff, and lambdas late-bound.
# ruff: noqa: F821

from __future__ import annotations

import asyncio
import gc
import io
import linecache
import sys
import time
import traceback
import weakref

import pytest
from playing import FailedCode, Refused, aplay, message_of, play, ready
from programs import Program, ended_by

from case_programs import read_program
from njrt.data.jumps import Break, Continue, Return
from njrt.data.outcome import Broke, Continued, Raised, Returned
from njrt.effects import Refusal
from njrt.errors import EffectLimitError
from njrt.execution.compile import MAX_CHARACTERS
from njrt.execution.execute import Failed, Jumped, Ran, execute, prepare
from njrt.execution.scope.opening import make_scope


def outcome_of(source: str, labels: str = "break continue return"):
    result = execute(ready(source, make_scope(lambda: ()), labels))
    assert isinstance(result, Jumped), result
    return result.outcome


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("break", Broke()),
        ("continue", Continued()),
        ("return", Returned(None)),
        ("return 1, 2", Returned((1, 2))),
        ("if True:\n    while True:\n        break\n    continue", Continued()),
        ("for x in ():\n    pass\nelse:\n    break", Broke()),
        ("with memoryview(b'') as v:\n    return v.nbytes", Returned(0)),
        ("try:\n    1/0\nexcept:\n    break", Broke()),
        ("try:\n    break\nexcept:\n    pass\nfinally:\n    x = 1", Broke()),
        ("try:\n    break\nfinally:\n    return 2", Returned(2)),
        ("try:\n    raise KeyError\nfinally:\n    return 2", Returned(2)),
        ("match 1:\n    case 1:\n        return 5", Returned(5)),
        ("def f():\n    return 1\nreturn f()", Returned(1)),
        ("for i in range(3):\n    if i == 1: break\nreturn i", Returned(1)),
        (
            "for i in range(3):\n    try:\n        continue\n    finally:\n        j = i\nreturn j",
            Returned(2),
        ),
        ("try:\n    return 1\nexcept BaseException:\n    return 2", Returned(1)),
    ],
)
def test_jumps_mean_the_programs(source: str, expected: object) -> None:
    assert outcome_of(source) == expected


def test_a_with_block_sees_a_jump_as_no_exception() -> None:
    source = """
seen = []
class C:
    def __enter__(self): return self
    def __exit__(self, *error): seen.append(error)
with C():
    return seen
"""
    assert outcome_of(source) == Returned([(None, None, None)])


@pytest.mark.parametrize(
    ("source", "labels", "message"),
    [
        ("break", "return", "line 1: `break` is not possible here; possible are: raise, return"),
        ("x = 1\ncontinue", "", "line 2: `continue` is not possible here; leave it out"),
        ("if 1:\n    return", "break continue", "line 2: `return` is not possible here; possible are: raise, break, continue"),
        ("return 1", "bare_return", "line 1: only a bare `return`, without a value, is possible here"),
        ("yield 1", "", "line 1: a block cannot yield"),
        ("x = yield from ()", "", "line 1: a block cannot yield"),
        ("await f()", "", "line 1: this block does not run in an async function: it cannot await"),
        ("[x async for x in y]", "", "line 1: this block does not run in an async function: it cannot await"),
        ("from njrt import *", "", "line 1: `import *` is not possible in a block; import the names you need"),
        ("from . import *", "", "line 1: `import *` is not possible in a block; import the names you need"),
        # Python 3.14 refuses it before the block does.
        ("from __future__ import *", "", "syntax error, line 1: future feature * is not defined" if sys.version_info >= (3, 14) else "line 1: `import *` is not possible in a block; import the names you need"),
        ("def f():\n    from math import *", "", "line 2: `import *` is not possible in a block; import the names you need"),
        ("x = = 1", "", "syntax error, line 1: invalid syntax\n    x = = 1\n        ^"),
        ("if 1:\nx", "", "syntax error, line 2: expected an indented block after 'if' statement on line 1\n    x\n    ^"),
        ("def f(x):\n    nonlocal x", "", "syntax error, line 2: name 'x' is parameter and nonlocal"),
    ],
)  # fmt: skip
def test_refusals(source: str, labels: str, message: str) -> None:
    assert message_of(source, labels=labels) == message


def test_a_bare_return_is_legal_where_only_that_is() -> None:
    assert outcome_of("return", "bare_return") == Returned(None)


MONSTROUS = {
    "null": "x\0y",
    "surrogate": "'\ud800'",
    "parens": "(" * 1000 + ")" * 1000,
    "brackets": "[" * 5000 + "]" * 5000,
    "unary": "-" * 100_000 + "1",
    "dots": "x" + ".a" * 100_000,
    "long": "x = 1\n" * 20_000,
    "number": "9" * 5000,
    "10MB": "'" + "a" * 10_000_000 + "'",
    "ifs": "".join("    " * depth + "if 1:\n" for depth in range(1000)),
}


@pytest.mark.parametrize("source", MONSTROUS.values(), ids=MONSTROUS)
def test_monstrous_source_is_refused(source: str) -> None:
    start = time.process_time()
    assert isinstance(prepare(source, make_scope(lambda: ())), Refusal)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("unit", ["x = 1\n", "1 <", "[1],", "n = 'a';"])
def test_the_longest_code_is_compiled_or_refused_within_its_time(unit: str) -> None:
    n = "a"
    start = time.process_time()
    prepare(unit * (MAX_CHARACTERS // len(unit)) + "1", make_scope(lambda: (n,)))
    assert time.process_time() - start < 15


def test_finally_blocks_that_multiply_are_refused() -> None:
    def nest(levels: int, jump: str) -> str:
        lines = []
        for depth in range(levels):
            lines += [f"{' ' * depth}try:", f"{' ' * depth} {jump}", f"{' ' * depth}finally:"]
        return "\n".join([*lines, " " * levels + "x = 1"])

    for levels, jump, is_legal in (
        (4, "return", True),
        (8, "pass", True),
        (90, "pass", False),
        (19, "return", False),
    ):
        start = time.process_time()
        prepared = prepare(nest(levels, jump), make_scope(lambda: ()), labels=("return",))
        assert isinstance(prepared, Refusal) != is_legal
        assert time.process_time() - start < 2


# --- exceptions


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("raise KeyError", KeyError),
        ("raise KeyError('k')", KeyError),
        ("raise KeyError('k') from None", KeyError),
        ("raise KeyError('k') from ValueError()", KeyError),
        ("try:\n    1/0\nexcept ZeroDivisionError:\n    raise", ZeroDivisionError),
        ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise e", ZeroDivisionError),
        ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError from e", ValueError),
        ("for i in range(3):\n    with memoryview(b''):\n        if i: raise StopIteration(i)", StopIteration),
        ("class Mine(Exception): pass\nraise Mine", Exception),
        ("try:\n    raise KeyError\nexcept* KeyError:\n    raise ValueError", ValueError),
        ("try:\n    raise ExceptionGroup('g', [KeyError(), TypeError()])\nexcept* KeyError:\n    raise ValueError", ExceptionGroup),
        ("raise ExceptionGroup('g', [KeyError()])", ExceptionGroup),
    ],
)  # fmt: skip
def test_a_top_level_raise_is_the_programs(source: str, kind: type[BaseException]) -> None:
    outcome = outcome_of(source)
    assert isinstance(outcome, Raised)
    assert isinstance(outcome.exception, kind)


def test_cause_and_context_are_pythons() -> None:
    raised = outcome_of("raise KeyError from ValueError(1)").exception
    assert isinstance(raised.__cause__, ValueError)
    assert raised.__context__ is None
    raised = outcome_of("try:\n    1/0\nexcept ArithmeticError:\n    raise KeyError").exception
    assert isinstance(raised.__context__, ZeroDivisionError)
    frames = traceback.extract_tb(raised.__traceback__)
    assert [frame.line for frame in frames] == ["raise KeyError"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1/0", "ZeroDivisionError: division by zero\n  in your code, line 1: 1/0"),
        ("x = {}\nx['a']", "KeyError: 'a'\n  in your code, line 2: x['a']"),
        ("assert False, 'no'", "AssertionError: no\n  in your code, line 1: assert False, 'no'"),
        ("raise 3", "TypeError: exceptions must derive from BaseException\n  in your code, line 1: raise 3"),
        ("raise", "RuntimeError: No active exception to reraise\n  in your code, line 1: raise"),
        ("raise None", "TypeError: exceptions must derive from BaseException\n  in your code, line 1: raise None"),
        ("def f():\n    raise KeyError(1)\nf()",
         "KeyError: 1\n  in your code, line 3: f()\n  in f, line 2: raise KeyError(1)"),
        ("class E(Exception):\n    def __str__(self): 1/0\ndef f(): raise E\nf()",
         "E: <its message cannot be shown: ZeroDivisionError>\n  in your code, line 4: f()\n  in f, line 3: def f(): raise E"),
        # the `raise` that was caught before does not count
        ("try: raise KeyError('a')\nexcept KeyError: pass\n{}['b']", "KeyError: 'b'\n  in your code, line 3: {}['b']"),
        ("import json\njson.loads('{')", None),
    ],
)  # fmt: skip
def test_other_exceptions_go_back_to_the_model(source: str, message: str | None) -> None:
    result = execute(ready(source, make_scope(lambda: ())))
    assert isinstance(result, Failed)
    if message is not None:
        assert result.message == message
    else:
        assert result.message.startswith("JSONDecodeError: ")
        assert "  in loads (__init__.py:" in result.message


def test_super_without_a_class_fails_as_in_python() -> None:
    message = message_of("def f(self): return super().m()\nf(1)")
    assert "__class__" in message
    assert "in f, line 1: def f(self): return super().m()" in message


def test_frames_of_the_program_are_named_and_the_text_is_bounded() -> None:
    def price_of(name):
        raise LookupError("x" * 100_000)

    def deep(n):
        return deep(n + 1)

    message = message_of("price_of('b')", lambda: (price_of,))
    assert "  in price_of (test_code_control.py:" in message
    assert len(message) < 3000
    message = message_of("deep(0)", lambda: (deep,))
    assert message.startswith("RecursionError: maximum recursion depth exceeded")
    assert len(message.splitlines()) < 12


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, EffectLimitError])
def test_what_is_not_the_models_passes_through(kind: type[BaseException]) -> None:
    def interrupted():
        raise kind

    with pytest.raises(kind):
        play(lambda: (interrupted,), "try:\n    interrupted()\nexcept ValueError:\n    pass")


def test_a_message_that_never_ends_is_given_up() -> None:
    source = "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f(): raise E\nf()"
    assert message_of(source).startswith("E: <its message cannot be shown: DeadlineExceeded>")


def test_functions_of_earlier_snippets_are_shown_by_their_line() -> None:
    scope = make_scope(lambda: ())
    execute(ready("def f(n):\n    return 1 / n", scope))
    result = execute(ready("1\nf(0)", scope))
    assert isinstance(result, Failed)
    assert result.message.splitlines()[1:] == [
        "  in your code, line 2: f(0)",
        "  in f, line 2: return 1 / n",
    ]


def test_bindings_made_before_a_jump_persist() -> None:
    def f(jump):
        y = 0
        try:
            play(lambda: (y,), f"y += 1\n{jump}", writes="y", labels="break continue return")
        except (Break, Continue, Return, KeyError):
            return y

    assert [f(jump) for jump in ("break", "continue", "return 5", "raise KeyError")] == [1, 1, 1, 1]


# --- values and print


def test_the_value_is_that_of_the_last_expression() -> None:
    scope = make_scope(lambda: ())
    assert execute(ready("1 + 1", scope)) == Ran(2, "")
    assert execute(ready("x = 1", scope)) == Ran(None, "")
    assert execute(ready("if 1:\n    5", scope)) == Ran(None, "")
    assert execute(ready("1 + 1", scope, expression=True)) == Ran(2, "")
    with pytest.raises(Refused, match="one expression"):
        ready("x = 1", scope, expression=True)


def test_print_reaches_both_stdout_and_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    other = io.StringIO()
    scope = make_scope(lambda: (other,))
    source = "print('a', 1, sep='-')\nprint(*'xy', end='!')\nprint('no', file=other)\ndef f(): print('in f')\nf()\nf"
    ran = execute(ready(source, scope))
    assert (ran.printed, other.getvalue()) == ("a-1\nx y!in f\n", "no\n")
    assert capsys.readouterr().out == "a-1\nx y!in f\n"
    scope.close()
    ran.value()
    assert capsys.readouterr().out == "in f\n"


def test_printed_text_is_bounded_and_kept_on_failure(capsys: pytest.CaptureFixture[str]) -> None:
    result = execute(ready("print('x' * 100_000)\n1/0", make_scope(lambda: ())))
    assert isinstance(result, Failed)
    assert len(result.printed) < 5000
    assert "more characters printed" in result.printed
    assert len(capsys.readouterr().out) == 100_001


# --- source lines


def test_source_lines_live_as_long_as_the_code() -> None:
    prefix = "<natural block lines.njpy:7"
    scope = make_scope(lambda: (), at="lines.njpy:7")
    function = execute(ready(f"def f():\n    return 1/0\n#{'x' * 5000}\nf", scope)).value
    scope.close()
    with pytest.raises(ZeroDivisionError) as caught:
        function()
    assert traceback.extract_tb(caught.tb)[-1].line == "return 1/0"
    del function, caught
    gc.collect()
    assert not [name for name in linecache.cache if name.startswith(prefix)]


def test_many_snippets_leave_few_lines() -> None:
    scope = make_scope(lambda: (), at="many.njpy:1")
    for number in range(300):
        assert execute(ready(f"{number}", scope)).value == number
    assert sum(name.startswith("<natural block many.njpy:1") for name in linecache.cache) < 100


# --- async


def test_jumps_and_failures_in_async_blocks() -> None:
    async def value(k):
        await asyncio.sleep(0)
        return k

    async def main(source, **more):
        await aplay(lambda: (value,), source, labels="return", **more)

    with pytest.raises(Return) as returned:
        asyncio.run(main("return await value(3)"))
    assert returned.value.value == 3
    with pytest.raises(KeyError):
        asyncio.run(main("await value(1)\nraise KeyError"))
    with pytest.raises(FailedCode, match="ZeroDivisionError"):
        asyncio.run(main("await value(1)\n1/0"))
    with pytest.raises(Refused, match="cannot await"):
        asyncio.run(main("await value(1)", ns={}))


def test_a_stop_iteration_becomes_what_a_coroutine_makes_of_it() -> None:
    async def main():
        await aplay(lambda: (asyncio,), "await asyncio.sleep(0)\nraise StopIteration(1)")

    with pytest.raises(RuntimeError, match="coroutine raised StopIteration"):
        asyncio.run(main())


def test_cancellation_passes_through_and_leaves_nothing() -> None:
    log: list[str] = []
    source = "try:\n    await asyncio.sleep(600)\nfinally:\n    log.append('end')"

    async def main():
        task = asyncio.create_task(aplay(lambda: (asyncio, log), source))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert log == ["end"]


def test_the_blocks_variables_are_let_go() -> None:
    class Thing:
        pass

    def f():
        thing = Thing()
        source = "def g(): return thing\nother = [g, thing]\nother.append(other)\ndel other[:]"
        play(lambda: (thing,), source)
        return weakref.ref(thing)

    gc.disable()
    try:
        assert f()() is None
    finally:
        gc.enable()


def test_memory_does_not_grow_with_the_number_of_blocks() -> None:
    def f(n):
        total: int
        play(lambda: (n, total), "total = n + 1", writes="total")
        return total

    for n in range(1000):  # caches of bounded size are filled
        assert f(n) == n + 1
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(3000):
        f(n)
    gc.collect()
    assert sys.getallocatedblocks() - before < 1000


CONTEXTS = Program(read_program("code_control_contexts"))
NESTED = "try:\n    [][0]\nexcept IndexError:\n    raise KeyError"
REGROUPED = "try:\n    raise ExceptionGroup('g', [ValueError(1), KeyError(2)])\nexcept* ValueError:\n    raise"


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("function", "code", "context"),
    [
        ("in_handler", "raise KeyError", [KeyError, ZeroDivisionError]),
        ("in_handler", NESTED, [KeyError, IndexError, ZeroDivisionError]),
        ("in_handler", "raise", [ZeroDivisionError]),
        ("alone", NESTED, [KeyError, IndexError]),
        ("alone", REGROUPED, [ExceptionGroup]),
    ],
)
def test_the_context_of_an_exception_leaves_the_block_with_it(
    function: str, code: str, context: list[type[BaseException]]
) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        CONTEXTS.call(function, says=ended_by(code))
    chain: list[type[BaseException]] = []
    error: BaseException | None = caught.value
    while error is not None:
        chain.append(type(error))
        error = error.__context__
    assert chain == context


@pytest.mark.usefixtures("guarded")
def test_private_names_are_mangled_without_one_in_the_prompt() -> None:
    program = Program('''
        class Box:
            def fill(self):
                """natural
                Set the balance of <self>.
                """
                return vars(self)
        def fill():
            return Box().fill()
    ''')
    assert program.call("fill", says=ended_by("self.__balance = 5")) == {"_Box__balance": 5}
