"""The states of executed programs: what is recorded, and that both forms keep all of it."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import CALL, EXPECTED_ERRORS, report_states, write_program
from token_reader import read_tokens

from spsbench.cli import main
from spsbench.results import InputError
from spsbench.states.programs import record_call, record_program
from spsbench.states.recording import MAX_VALUE_CHARS, StateLimitError, StateRecorder
from spsbench.states.tokens import write_tokens
from spsbench.states.trace import (
    ProgramState,
    StateTrace,
    list_locals,
    read_state_lines,
    write_state_lines,
)

PROGRAMS = {
    "generator": (
        "def g(n):\n    for i in range(n):\n        yield i\n\n"
        "def f(n):\n    total = 0\n    for x in g(n):\n        total += x\n    return total\n",
        "f(2)",
        "c5.0 l6.0 l7.0 c1.1 l2.1 l3.1 r3.1=0 l8.0 l7.0 c3.1 l2.1 l3.1 r3.1=1 l8.0 l7.0 c3.1 l2.1 r2.1=None"
        " l9.0 r9.0=1",
    ),
    "exception": (
        "def g(n):\n    raise ValueError(n)\n\n"
        "def f(n):\n    try:\n        g(n)\n    except ValueError as e:\n        n = 1\n    return n\n",
        "f(2)",
        "c4.0 l5.0 l6.0 c1.1 l2.1 e2.1=ValueError(2) r2.1 e6.0=ValueError(2) l7.0 l8.0 l9.0-e r9.0=1",
    ),
    "exception that leaves": (
        "def g(n):\n    return {}[n]\n\ndef f(n):\n    x = g(n)\n    return x\n",
        "f(0)",
        "c4.0 l5.0 c1.1 l2.1 e2.1=KeyError(0) r2.1 e5.0=KeyError(0) r5.0",
    ),
    "return right after an exception": (
        "from contextlib import suppress\ndef f():\n    with suppress(KeyError): raise KeyError(1)\n",
        "f()",
        "c2.0 l3.0 e3.0=KeyError(1) r3.0=None",
    ),
    "loops on one line": (
        "def f(n):\n    for i in range(3): n += i\n    return n\n",
        "f(0)",
        "c1.0 l2.0 l3.0 r3.0=3",
    ),
    "recursion": (
        "def f(n):\n    return 1 if n == 0 else n * f(n - 1)\n",
        "f(2)",
        "c1.0 l2.0 c1.1 l2.1 c1.2 l2.2 r2.2=1 r2.1=1 r2.0=2",
    ),
    "lambda": (
        "def f(xs):\n    return sorted(xs, key=lambda x: -x)\n",
        "f([1, 2])",
        "c1.0 l2.0 c2.1 l2.1 r2.1=-1 c2.1 l2.1 r2.1=-2 r2.0=[2, 1]",
    ),
    "comprehensions": (
        "def h(x):\n    return x + 1\n\n"
        "def f(xs):\n    [h(x) for x in xs]\n    return sum(h(x) for x in xs)\n",
        "f([1, 2])",
        "c4.0 l5.0 c1.1 l2.1 r2.1=2 c1.1 l2.1 r2.1=3 l6.0 c1.1 l2.1 r2.1=2 c1.1 l2.1 r2.1=3 r6.0=5",
    ),
    "a comprehension in a loop on one line": (
        "def f(xs):\n    for x in xs: y = [x for x in xs]\n    return y\n",
        "f([1, 2])",
        "c1.0 l2.0 l3.0 r3.0=[1, 2]",
    ),
    "an iterator that ends": (
        "class E:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\n\n"
        "def f():\n    for x in E(): pass\n",
        "f()",
        "c5.0 l6.0 c2.1 l2.1 r2.1=E() c3.1 l3.1 e3.1=StopIteration() r3.1 e6.0=StopIteration() r6.0=None",
    ),
    "class": (
        "def f():\n    class A:\n        def m(self):\n            self.y = 2\n            return self\n"
        "    a = A().m()\n    del A\n    return a\n",
        "f()",
        "c1.0 l2.0 c2.1 l2.1 l3.1 r3.1=None l6.0 c3.1 l4.1 l5.1 r5.1=A(y=2) l7.0 l8.0-A r8.0=A(y=2)",
    ),
    "generator that is closed": (
        "def g():\n    try:\n        yield 1\n    finally:\n        x = 2\n\n"
        "def f():\n    it = g()\n    next(it)\n    it.close()\n    return 3\n",
        "f()",
        "c7.0 l8.0 l9.0 c1.1 l2.1 l3.1 r3.1=1 l10.0 c3.1 e3.1=GeneratorExit() l5.1 r5.1 l11.0 r11.0=3",
    ),
    "generator that does not handle an exception": (
        "def g():\n    yield 1\n\n"
        "def f():\n    it = g()\n    next(it)\n    try:\n        it.throw(KeyError())\n"
        "    except KeyError:\n        return 3\n",
        "f()",
        "c4.0 l5.0 l6.0 c1.1 l2.1 r2.1=1 l7.0 l8.0 c2.1 e2.1=KeyError() r2.1 e8.0=KeyError() l9.0 l10.0 r10.0=3",
    ),
    "yield from": (
        "def g():\n    x = yield 1\n    return 2\n\ndef h():\n    y = yield from g()\n    return y\n\n"
        "def f():\n    return list(h())\n",
        "f()",
        "c9.0 l10.0 c5.1 l6.1 c1.2 l2.2 r2.2=1 r6.1=1 c6.1 c2.2 l3.2 r3.2=2 e6.1=StopIteration(2) l7.1 r7.1=2"
        " r10.0=[1]",
    ),
    "coroutines": (
        "import asyncio\n\nasync def g(n):\n    await asyncio.sleep(0)\n    return n\n\n"
        "def f():\n    return asyncio.run(g(1))\n",
        "f()",
        "c7.0 l8.0 c3.1 l4.1 r4.1=None c4.1 e4.1=StopIteration() l5.1 r5.1=1 r8.0=1",
    ),
    "with": (
        "class C:\n    def __enter__(self):\n        return 1\n    def __exit__(self, *a):\n        return True\n\n"
        "def f():\n    with C() as c:\n        raise ValueError\n    return 2\n",
        "f()",
        "c7.0 l8.0 c2.1 l3.1 r3.1=1 l9.0 e9.0=ValueError() l8.0 c4.1 l5.1 r5.1=True l10.0 r10.0=2",
    ),
    "exception thrown into a `with` of a generator": (
        "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *a): return False\n\n"
        "def g():\n    with C():\n        yield 1\n\n"
        "def f():\n    it = g()\n    next(it)\n    try:\n        it.throw(KeyError())\n"
        "    except KeyError:\n        return 3\n",
        "f()",
        "c9.0 l10.0 l11.0 c5.1 l6.1 c2.2 l2.2 r2.2=1 l7.1 r7.1=1 l12.0 l13.0 c7.1 e7.1=KeyError() l6.1 c3.2 l3.2"
        " r3.2=False r7.1 e13.0=KeyError() l14.0 l15.0 r15.0=3",
    ),
    "two yields in one line": (
        "def g():\n    x = [(yield None), (yield None)]\n    return x\n\ndef f():\n    return list(g())\n",
        "f()",
        "c5.0 l6.0 c1.1 l2.1 r2.1=None c2.1 r2.1=None c2.1 l3.1 r3.1=[None, None] r6.0=[None, None]",
    ),
    "asynchronous generator": (
        "import asyncio\nasync def g():\n    await asyncio.sleep(0)\n    yield 1\n\nasync def m():\n    async for x in g():\n"
        "        pass\n    return x\n\ndef f():\n    return asyncio.run(m())\n",
        "f()",
        "c11.0 l12.0 c6.1 l7.1 c2.2 l3.2 r3.2=None r7.1=None c7.1 c3.2 e3.2=StopIteration() l4.2"
        " r4.2=<async_generator_wrapped_value> e7.1=StopIteration(1) l8.1 l7.1 c4.2 r4.2=None"
        " e7.1=StopAsyncIteration() l9.1 r9.1=1 r12.0=1",
    ),
    "asynchronous context manager": (
        "import asyncio\nclass C:\n    async def __aenter__(self): return 1\n    async def __aexit__(self, *a): return True\n\n"
        "async def m():\n    async with C():\n        raise KeyError\n    return 5\n\ndef f():\n    return asyncio.run(m())\n",
        "f()",
        "c11.0 l12.0 c6.1 l7.1 c3.2 l3.2 r3.2=1 e7.1=StopIteration(1) l8.1 e8.1=KeyError() l7.1 c4.2 l4.2 r4.2=True"
        " e7.1=StopIteration(True) l9.1 r9.1=5 r12.0=5",
    ),
    "exception groups": (
        "def f():\n    try:\n        raise ExceptionGroup('a', [ValueError(1), KeyError(2)])\n    except* ValueError:\n"
        "        x = 1\n    except* KeyError:\n        x = 2\n    return x\n",
        "f()",
        "c1.0 l2.0 l3.0 e3.0=ExceptionGroup('a', [ValueError(1), KeyError(2)]) l4.0 l5.0 l6.0 l7.0 l8.0 r8.0=2",
    ),
    "jumps through finally": (
        "def f():\n    for i in range(2):\n        try:\n            if i:\n                return i\n            continue\n"
        "        finally:\n            z = i\n",
        "f()",
        "c1.0 l2.0 l3.0 l4.0 l6.0 l8.0 l2.0 l3.0 l4.0 l5.0 l8.0 r8.0=1",
    ),
    "exception through finally": (
        "def g():\n    try:\n        1 / 0\n    finally:\n        x = 1\n\n"
        "def f():\n    try:\n        g()\n    except ZeroDivisionError:\n        return 1\n",
        "f()",
        "c7.0 l8.0 l9.0 c1.1 l2.1 l3.1 e3.1=ZeroDivisionError('division by zero') l5.1 r5.1"
        " e9.0=ZeroDivisionError('division by zero') l10.0 l11.0 r11.0=1",
    ),
    "match": (
        "def f(p):\n    match p:\n        case [a, b]:\n            return a + b\n        case {'k': v}:\n            return v\n",
        "f({'k': 3})",
        "c1.0 l2.0 l3.0 l5.0 l6.0 r6.0=3",
    ),
    "decorator and closure": (
        "def twice(fn):\n    def w(*a):\n        return fn(fn(*a))\n    return w\n\n@twice\ndef f(x):\n    return x + 1\n",
        "f(1)",
        "c2.0 l3.0 c6.1 l8.1 r8.1=2 c6.1 l8.1 r8.1=3 r3.0=3",
    ),
    "exec": (
        "def f():\n    d = {}\n    exec('def g():\\n    return 2\\ny = g()', d)\n    return d['y']\n",
        "f()",
        "c1.0 l2.0 l3.0 l4.0 r4.0=2",
    ),
    "exit": ("import sys\ndef f():\n    sys.exit(3)\n", "f()", "c2.0 l3.0 e3.0=SystemExit(3) r3.0"),
    "call over several lines": (
        "def g(a, b):\n    return a + b\n\ndef f(x):\n    y = g(\n        x,\n        g(1,\n          2),\n    )\n    return y\n",
        "f(1)",
        "c4.0 l5.0 l6.0 l7.0 l8.0 l7.0 c1.1 l2.1 r2.1=3 l5.0 c1.1 l2.1 r2.1=4 l10.0 r10.0=4",
    ),
    "thread": (
        "import threading\ndef w(out):\n    out.append(1)\n\ndef f():\n    out = []\n"
        "    threading.Thread(target=w, args=(out,)).start()\n    return 1\n",
        "f()",
        "c5.0 l6.0 l7.0 l8.0 r8.0=1",
    ),
    "lines that are not unique": (
        "def f(x):\n    if x:\n        x += 1\n    else:\n        x += 1\n    return x  # line 6\n",
        "f(0)",
        "c1.0 l2.0 l5.0 l6.0 r6.0=1",
    ),
}


def summarize(state: ProgramState) -> str:
    value = "" if state.value is None else f"={state.value}"
    removed = "".join(f"-{name}" for name in state.removed)
    return f"{state.event[0]}{state.line}.{state.depth}{value}{removed}"


@pytest.mark.parametrize("name", PROGRAMS)
def test_events_lines_depths_and_values(name: str) -> None:
    source, call, expected = PROGRAMS[name]
    trace = record_call(source, call).trace
    assert " ".join(map(summarize, trace.states)) == expected
    assert_round_trip(trace)


def test_states_of_random_programs_are_those_that_the_programs_report() -> None:
    for seed in (*range(25), 1225):
        source = write_program(Random(seed))
        found = record_call(source, CALL, max_states=100_000)
        assert found.error is None or isinstance(found.error, EXPECTED_ERRORS), seed
        assert found.trace == StateTrace(source, report_states(source)), seed
        assert_round_trip(found.trace)


def assert_round_trip(trace: StateTrace) -> None:
    assert list(read_tokens(write_tokens(trace))) == [trace]
    assert list(read_state_lines(write_state_lines([trace]))) == [trace]


def test_variables_are_differences() -> None:
    source = "def f(n, m):\n    k = [n]\n    k.append(m)\n    del n\n    return k\n"
    states = record_call(source, "f(1, 2)").trace.states
    assert [state.changed for state in states] == [
        {"n": "1", "m": "2"},
        {},
        {"k": "[1]"},
        {"k": "[1, 2]"},
        {},
        {},
    ]
    assert states[4].removed == ("n",)
    assert list_locals(states)[4] == {"m": "2", "k": "[1, 2]"}


def test_a_whole_program_is_a_function_of_depth_0() -> None:
    source = "import sys\ndef f(n):\n    return n\nx = f(len(sys.argv))\n"
    found = record_program(source, "prog.py", ["prog.py", "a"])
    expected = "c1.0 l1.0 l2.0 l4.0 c2.1 l3.1 r3.1=2 r4.0=None"
    assert " ".join(map(summarize, found.trace.states)) == expected
    assert_round_trip(found.trace)


def test_the_program_ends_at_the_limit_of_states() -> None:
    found = record_call(
        "def f():\n    for i in range(50):\n        pass\n    return 7\n", "f()", max_states=9
    )
    assert (len(found.trace.states), found.trace.is_cut) == (9, True)
    assert isinstance(found.error, StateLimitError)
    assert_round_trip(found.trace)
    assert not write_tokens(found.trace).endswith("<|end_of_text|>")


def test_endless_recursion_ends_the_states_not_the_program() -> None:
    source = (
        "def g(n, xs):\n    return g(n + 1, [xs])\n\n"
        "def f():\n    try:\n        g(0, [])\n    except RecursionError:\n        return 'caught'\n"
    )
    found = record_call(source, "f()")
    assert (found.value, found.trace.is_cut) == ("caught", True)
    assert len(found.trace.states) > 100
    assert_round_trip(found.trace)


def test_a_program_with_a_trace_function_of_its_own_is_cut() -> None:
    source = "import sys\ndef f():\n    sys.settrace(None)\n    return 1\n"
    found = record_call(source, "f()")
    assert (found.value, found.trace.is_cut) == (1, True)


def test_the_former_trace_function_is_put_back() -> None:
    def trace(frame: Any, event: str, argument: Any) -> None:
        return None

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        record_call("def f():\n    return 1\n", "f()")
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


class Loud:
    """A class whose code fails."""

    def __init__(self) -> None:
        self.x = 1

    def __repr__(self) -> str:
        raise AssertionError("the program's code was run")


VALUES: list[tuple[object, str]] = [
    ([1, {"a": (2,)}, {3}], "[1, {'a': (2,)}, {3}]"),
    ([Loud()], "[Loud(x=1)]"),
    (ValueError("no"), "ValueError('no')"),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text for _, text in VALUES])
def test_a_value_is_written_without_the_program_s_code(value: object, text: str) -> None:
    names = {"value": value}
    recorder = StateRecorder("<states>")
    exec(compile("def f(x):\n    return x\n", "<states>", "exec"), names)
    with recorder:
        names["f"](value)  # type: ignore[operator]
    assert recorder.states[-1].value == text


def test_a_long_value_is_cut() -> None:
    trace = record_call("def f(x):\n    return x\n", "f([0] * 1000)").trace
    assert str(trace.states[-1].value).endswith("...]")
    assert len(str(trace.states[-1].value)) <= MAX_VALUE_CHARS


NAMES = st.sampled_from(["a", "b", "c", "<|", '"', "ü"])
TEXTS = st.text(max_size=5) | st.sampled_from(["<|frame_sep|>", "...", "'..'", "\\u003c|", "\n"])
SOURCES = st.lists(
    st.sampled_from(
        ["x = 1", "", "  # line 2", "y  # line 1", "f()  # << START_OF_TRACE", "\\", "é"]
    ),
    min_size=1,
    max_size=6,
).map("\n".join)


@st.composite
def traces(draw: st.DrawFn) -> StateTrace:
    """Well-formed traces of arbitrary programs: calls nest, and what is removed was there."""
    source = draw(SOURCES)
    lines = st.integers(1, source.count("\n") + 1)
    states: list[ProgramState] = []
    stack: list[dict[str, str]] = []
    for _ in range(draw(st.integers(0, 12))):
        event = draw(st.sampled_from(["call", "line", "return", "exception"])) if stack else "call"
        if event == "call":
            stack.append({})
        depth, held = len(stack) - 1, stack[-1]
        if event in ("call", "line"):
            removed = draw(st.sets(st.sampled_from(sorted(held)))) if held else set()
            new = draw(st.dictionaries(NAMES, TEXTS.filter(lambda text: text != ".."), max_size=3))
            changed = {
                name: text
                for name, text in new.items()
                if name not in removed and held.get(name) != text
            }
            stack[-1] = {
                name: text for name, text in (held | changed).items() if name not in removed
            }
            states.append(ProgramState(event, draw(lines), depth, changed, tuple(sorted(removed))))
        else:
            value = draw(TEXTS if event == "exception" else st.none() | TEXTS)
            states.append(ProgramState(event, draw(lines), depth, value=value))
            if event == "return":
                stack.pop()
    return StateTrace(source, tuple(states), draw(st.booleans()))


@given(st.lists(traces(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_both_forms_keep_every_trace(found: list[StateTrace]) -> None:
    assert list(read_tokens("\n".join(map(write_tokens, found)))) == found
    assert list(read_state_lines(write_state_lines(found))) == found


def test_the_tokens_are_those_of_the_prompting_guide() -> None:
    source = "def f(n):\n    m = n + 1\n    return m"
    assert write_tokens(record_call(source, "f(3)").trace) == (
        "<|begin_of_text|><|trace_context_start|>def f(n):  # << START_OF_TRACE\n"
        "    m = n + 1\n    return m<|frame_sep|>"
        '<|call_sep|>{"n": "3"}<|action_sep|>def f(n):<|frame_sep|>'
        '<|line_sep|>{"n": ".."}<|action_sep|>    m = n + 1<|frame_sep|>'
        '<|line_sep|>{"n": "..", "m": "4"}<|action_sep|>    return m<|frame_sep|>'
        '<|return_sep|><|action_sep|>    return m<|arg_sep|>"4"<|frame_sep|><|end_of_text|>'
    )


def test_a_program_with_a_token_in_it_is_refused() -> None:
    trace = record_call("def f():\n    return '<|frame_sep|>'\n", "f()").trace
    with pytest.raises(InputError, match=r"line 2 .*<\|frame_sep\|>.*JSON"):
        write_tokens(trace)
    assert list(read_state_lines(write_state_lines([trace]))) == [trace]


LINES = list(write_state_lines([record_call("def f(n):\n    return n\n", "f(1)").trace]))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (LINES[:-1], "end at line 4, without"),
        (LINES[1:], "line 1 .*`state`, does not belong"),
        ([*LINES[:2], *LINES[3:]], "line 4 .*`end`, does not belong"),
        ([LINES[0], LINES[1].replace("call", "visit")], "line 2 .*damaged"),
        (["{\n"], "line 1 .*not JSON"),
    ],
)
def test_damaged_lines_are_named(lines: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        list(read_state_lines(lines))


def test_the_command_runs_a_program_and_writes_both_forms(tmp_path: Path) -> None:
    program, out = tmp_path / "prog.py", tmp_path / "prog.states"
    program.write_text(
        "import sys\n\ndef f(n):\n    return n + 1\n\nprint('hello', f(len(sys.argv)))\n"
    )
    done = CliRunner().invoke(main, ["states", str(program), "--out", str(out), "one", "--two"])
    assert done.exit_code == 0, done.output
    assert (done.stdout, "hello 4\n" in done.stderr) == ("", True)
    assert "prog.states: 8 states" in done.stderr
    command = ["states", str(program), "--form", "tokens", "one", "--two"]
    tokens = CliRunner().invoke(main, command).stdout
    assert "".join(write_state_lines(read_tokens(tokens))) == out.read_text()


@pytest.mark.parametrize(
    ("text", "arguments", "said", "code"),
    [
        ("def f(:\n", [], "cannot be compiled", 2),
        ("1 / 0\n", [], "the program raised ZeroDivisionError", 0),
        ("1 / 0\n", ["--call", "f()"], "raised ZeroDivisionError before the call", 1),
        ("def f():\n    raise SystemExit(3)\n", ["--call", "f()"], '"value": "SystemExit(3)"', 0),
        ("for i in range(9):\n    pass\n", ["--max-states", "5"], "after the first 5 states", 0),
        ("x = '<|eot_id|>'\n", ["--form", "tokens"], "write the states as JSON", 2),
    ],
)
def test_the_command_says_what_is_wrong_with_a_program(
    tmp_path: Path, text: str, arguments: list[str], said: str, code: int
) -> None:
    program = tmp_path / "prog.py"
    program.write_text(text)
    done = CliRunner().invoke(main, ["states", str(program), *arguments])
    assert (said in done.output, done.exit_code) == (True, code), done.output


LOOP = (
    "def f():\n    n = 0\n    while True:\n        n += 1\n\nif __name__ == '__main__':\n    f()\n"
)


def test_an_endless_program_is_ended_and_keeps_its_states(tmp_path: Path) -> None:
    program, out = tmp_path / "prog.py", tmp_path / "prog.states"
    program.write_text(LOOP)
    flags = ["--out", str(out), "--max-states", "9"]
    for arguments in ([], ["--call", "f()"]):
        done = CliRunner().invoke(main, ["states", str(program), *flags, *arguments])
        assert done.exit_code == 0, done.output
        assert "ended after the first 9 states" in done.output
        (trace,) = read_state_lines(out.read_text().splitlines())
        assert trace.is_cut
        assert len(trace.states) == 9


def test_an_interrupted_program_keeps_its_states(tmp_path: Path) -> None:
    program = tmp_path / "prog.py"
    program.write_text("def f():\n    raise KeyboardInterrupt\n\nf()\n")
    done = CliRunner().invoke(main, ["states", str(program)])
    assert done.exit_code == 0, done.output
    assert '"value": "KeyboardInterrupt()"' in done.output
    assert "the program raised KeyboardInterrupt" in done.output


def test_a_program_runs_as_python_runs_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("def add(n):\n    return n + 1\n")
    program = tmp_path / "prog.py"
    program.write_bytes(
        b"# coding: latin-1\nimport beside, pickle\n\nclass A:\n    pass\n\n"
        b"def f():\n    return pickle.loads(pickle.dumps(A())).__class__ is A, beside.add(1), '\xe9'\n\nx = f()\n"
    )
    before = list(sys.path)
    for call in ([], ["--call", "f()"]):
        done = CliRunner().invoke(main, ["states", str(program), *call])
        assert done.exit_code == 0, done.output
        assert '"value": "(True, 2, \'é\')"' in done.output
    program.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert CliRunner().invoke(main, ["states", str(program)]).exit_code == 0
    assert sys.path == before
