"""`run` and `arun` as compiled programs call them: the block leaves as the Python statement there would."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import traceback
import weakref
from typing import Any

import pytest
from programs import Program, ended_by

import njrt
from case_programs import read_program
from njrt.errors import CodeTimeLimitError, EffectLimitError
from njrt.testing import ModelMessage, Reply, Scripted, Usage, run

# ── leaving ──────────────────────────────────────────────────────────────────────────────────────

LEAVING = Program(read_program("run_leaving"))
AFTER, BETWEEN = [0, "after", "finally"], [0, "finally"]
LOOPS: list[tuple[list[str], Any]] = [
    (["seen"], [*AFTER, "else"]),
    (["break"], BETWEEN),
    (["continue"], [*BETWEEN, "else"]),
    (["return seen"], BETWEEN),
    (["return seen + ['r']"], [0, "r"]),
    (["return"], None),
    (["if round == 0: continue", "break"], [*BETWEEN, 1, "finally"]),
    (["for i in range(9):\n    if i: break\nseen.append(i)"], [0, 1, "after", "finally", "else"]),
    (["while True:\n    seen.append('w')\n    break\nbreak"], [0, "w", "finally"]),
    (["try:\n    break\nfinally:\n    seen.append('f')"], [0, "f", "finally"]),
    (["def f():\n    return 5\nreturn f()"], 5),
]


@pytest.mark.parametrize(("codes", "expected"), LOOPS)
def test_jumps_out_of_a_loop_run_every_finally(codes: list[str], expected: Any) -> None:
    assert LEAVING.call("loop", len(codes), says=ended_by(*codes)) == expected


WITHS: list[tuple[str, bool, str, list[Any]]] = [
    ("log", False, "completed", [None]),
    ("break", False, "broken", [None]),
    ("return 'value'", False, "value", [None]),
    ("raise KeyError('k')", True, "swallowed", [("seen", "KeyError"), "KeyError"]),
]


@pytest.mark.parametrize(("code", "swallow", "expected", "logged"), WITHS)
def test_no_handler_of_the_program_ever_sees_a_jump(
    code: str, swallow: bool, expected: str, logged: list[Any]
) -> None:
    log: list[Any] = []
    assert LEAVING.call("inside_with", log, swallow, says=ended_by(code)) == expected
    assert log == logged


def test_continue_goes_back_to_the_loop_through_a_with() -> None:
    log: list[Any] = []
    says = ended_by("continue", "log.append('again')\nbreak")
    assert LEAVING.call("inside_with", log, False, says=says) == "broken"
    assert log == [None, "again", None]


def test_a_generator_keeps_its_state_over_blocks() -> None:
    codes = ["number = 10", "continue", "number", "return 'early'"]
    generator = LEAVING.load()["numbers"](9)
    with njrt.using(model=Scripted(ended_by(*codes))):
        assert [next(generator), next(generator)] == [10, 2]
        with pytest.raises(StopIteration) as ended:
            next(generator)
    assert ended.value.value == "early"


def test_an_async_generator_ends_by_a_bare_return() -> None:
    async def all_of() -> list[int]:
        return [number async for number in LEAVING.load()["async_numbers"](9)]

    with njrt.using(model=Scripted(ended_by("number += 1", "continue", "number", "return"))):
        assert asyncio.run(all_of()) == [1, 2]


def test_a_jump_that_would_leave_a_finally_is_not_offered() -> None:
    log: list[Any] = []
    says = [run("return 1", done=True), run("log.append('told')", done=True)]
    assert LEAVING.call("finished", log, says=says) == "body"
    assert log == ["told"]
    assert "jumps:" not in LEAVING.told()[0]


MODULE = Program(read_program("run_module"))


def test_module_level_and_class_bodies() -> None:
    codes = ["total += step\ncontinue", "total += step", "total += step\nbreak"]
    codes += ["size = size * 2\ndef grow(self, by):\n    return self.size + by"]
    names = MODULE.load(says=ended_by(*codes))
    assert (names["total"], names["step"]) == (106, 3)
    with njrt.using(model=Scripted(ended_by("self.__secret = Box.size"))):
        box = names["Box"]()
    assert (box.size, box.grow(3), vars(box)) == (4, 7, {"_Box__secret": 4})
    assert names["Box"].grow.__qualname__ == "Box.grow"
    assert not {"_nj_scope", "secret", "code"} & names.keys()


# ── exceptions ───────────────────────────────────────────────────────────────────────────────────

RAISING = Program(read_program("run_raising"))
NOTE = "natural block at program.njpy:{}"


def raised_by(function: str, *codes: str, argument: Any = None) -> BaseException:
    arguments = (argument,) if argument is not None else ()
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        RAISING.call(function, *arguments, says=ended_by(*codes))
    return caught.value


def test_an_exception_carries_one_note_and_no_noise() -> None:
    error = raised_by("f", "raise Mine('why')")
    assert (type(error).__name__, str(error)) == ("Mine", "why")
    assert error.__notes__ == [NOTE.format(10)]
    assert error.__context__ is error.__cause__ is None
    assert "During handling" not in "".join(traceback.format_exception(error))


@pytest.mark.usefixtures("guarded")
def test_a_cause_is_that_of_the_code() -> None:
    caused = raised_by(
        "f", "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise Mine from e"
    )
    assert isinstance(caused.__cause__, ZeroDivisionError)


def test_the_context_is_what_the_program_handles(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NJC_POLICY", policy)
    handled = raised_by("in_handler", "raise Mine")
    assert isinstance(handled.__context__, ZeroDivisionError)


def test_each_block_that_an_exception_leaves_adds_its_note_once() -> None:
    code = "try:\n    f()\nexcept Exception as e:\n    raise e"
    error = raised_by("g", code, "raise Mine")
    assert error.__notes__ == [NOTE.format(10), NOTE.format(15)]
    again = ValueError("kept by the program")
    for _ in range(3):
        assert raised_by("f", "raise x", argument=again) is again
    assert again.__notes__ == [NOTE.format(10)]


def test_an_exception_that_takes_no_notes_is_raised_all_the_same() -> None:
    assert type(raised_by("f", "raise Sealed")).__name__ == "Sealed"


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, BaseException])
def test_exceptions_of_every_kind_can_be_raised(kind: type[BaseException]) -> None:
    assert raised_by("f", "raise x", argument=kind("now")).args == ("now",)


def test_what_the_code_does_not_raise_itself_is_its_own_mistake() -> None:
    assert RAISING.call("f", 1, says=ended_by("1 / 0", "[][3]", "x")) is None
    assert ["ZeroDivisionError" in RAISING.told()[1], "IndexError" in RAISING.told()[2]] == [
        True
    ] * 2


def test_an_interrupt_of_the_user_is_the_users() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        RAISING.call("f", interrupted, says=ended_by("x()"))
    assert len(RAISING.model.requests) == 1
    assert caught.value.__context__ is None

    def thinking(request: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RAISING.call("f", 1, says=thinking)


# ── three kinds of failure ───────────────────────────────────────────────────────────────────────

COUNT = Program('''
    def f(x):
        """natural
        Put <x> into <:y>.
        """
        return y
''')
LOOK = run("x")
ENDLESS = "while True:\n    pass"
LIMITS: list[tuple[dict[str, Any], Any, type[njrt.LimitError], str]] = [
    ({"max_calls": 2}, lambda _: LOOK, njrt.CallLimitError, "2 model calls; allow more with `max_calls`"),
    ({"max_effects": 2}, lambda _: [LOOK] * 5, EffectLimitError, "2 effects; allow more with `max_effects`"),
    ({"max_seconds": 0}, lambda _: LOOK, njrt.TimeLimitError, "0 seconds; allow more with `max_seconds`"),
    ({"max_seconds": 0.2}, lambda _: run(ENDLESS), njrt.TimeLimitError, "0.2 seconds; allow more with `max_seconds`"),
    ({"max_code_seconds": 0.2}, lambda _: run(ENDLESS), CodeTimeLimitError, "max_code_seconds allows more"),
    ({"max_tokens": 100}, lambda _: priced(tokens=101), njrt.TokenLimitError, "100 tokens; allow more with `max_tokens`"),
    ({"max_usd": 0.5}, lambda _: priced(usd=0.6), njrt.CostLimitError, "0.5 US dollars; allow more with `max_usd`"),
]  # fmt: skip


def priced(tokens: int = 1, usd: float | None = None) -> Reply:
    said = ModelMessage("", (run("x"),))
    return Reply(said, usage=Usage(tokens, 0, usd=usd), model="m", source="model")


@pytest.mark.parametrize(("options", "says", "kind", "message"), LIMITS)
@pytest.mark.parametrize("is_async", [False, True])
def test_every_limit(
    options: dict[str, Any], says: Any, kind: type[njrt.LimitError], message: str, is_async: bool
) -> None:
    program = ASYNC if is_async else COUNT

    def attempt() -> None:
        result = program.call("f", 1, says=says, **options)
        with njrt.using(model=program.model, **options):
            asyncio.run(result)

    with pytest.raises(kind) as caught:
        attempt()
    error = caught.value
    assert message in str(error)
    assert error.place == "program.njpy:3"
    assert error.__notes__ == [NOTE.format(3)]
    assert error.__context__ is None or error.__suppress_context__
    assert error.run is not None


ASYNC = Program('''
    async def f(x):
        """natural
        Put <x> into <:y>.
        """
        return y
''')


def test_a_call_that_a_limit_refused_was_never_made() -> None:
    with njrt.watch() as watch, pytest.raises(njrt.CallLimitError):
        COUNT.call("f", 1, says=lambda _: LOOK, max_calls=2)
    assert len(COUNT.model.requests) == watch.totals.calls == 2
    (account,) = watch.runs
    assert account.outcome == "failed"
    assert account.error is not None
    assert account.error.startswith("CallLimitError")


def test_what_a_reply_cost_is_in_the_account_even_if_it_was_too_much() -> None:
    with njrt.watch() as watch, pytest.raises(njrt.CostLimitError):
        COUNT.call("f", 1, says=[priced(tokens=7, usd=0.6)], max_usd=0.5)
    assert (watch.totals.calls, watch.totals.tokens, watch.totals.usd) == (1, 7, 0.6)


def test_kinds_of_failure_are_told_apart() -> None:
    refusal = Reply(ModelMessage("never"), stop="refusal")
    for says, kind in (
        ([], njrt.ModelError),
        ([refusal], njrt.ReplyError),
        (ended_by("raise x"), KeyError),
    ):
        with pytest.raises(kind) as caught:
            COUNT.call("f", KeyError("k"), says=says)
        assert isinstance(caught.value, njrt.NaturalError) == (kind is not KeyError)
        assert caught.value.__notes__ == [NOTE.format(3)]


def test_an_error_of_the_runtime_further_down_passes_through_the_code_above() -> None:
    code = "try:\n    f()\nexcept ValueError:\n    pass"
    with pytest.raises(njrt.ModelError) as caught:
        RAISING.call("g", says=ended_by(code))
    assert caught.value.place == "program.njpy:10"
    assert caught.value.__notes__ == [NOTE.format(10), NOTE.format(15)]


# ── bindings ─────────────────────────────────────────────────────────────────────────────────────

KEEPING = Program('''
    def f(x):
        y = "before"
        try:
            """natural
            Put <x> into <:y> and <:z>.
            """
        except Exception as error:
            return y, "z" in locals(), type(error).__name__
        return y, z, None
''')


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("on_error", "code", "expected"),
    [
        ("keep", "y, z = x, 1", (5, 1, None)),
        ("rollback", "y, z = x, 1", (5, 1, None)),
        ("keep", "y = z = x\nraise ValueError", (5, True, "ValueError")),
        ("rollback", "y = z = x\nraise ValueError", ("before", False, "ValueError")),
        ("keep", "y = z = x\n1 / 0", (5, True, "ModelError")),
        ("rollback", "y = z = x\n1 / 0", ("before", False, "ModelError")),
    ],
)
def test_rollback_puts_bindings_back(on_error: Any, code: str, expected: Any) -> None:
    assert KEEPING.call("f", 5, says=ended_by(code), on_error=on_error) == expected


def test_jumps_are_no_errors() -> None:
    assert LEAVING.call("loop", 1, says=ended_by("break"), on_error="rollback") == BETWEEN


FACTORY = Program(read_program("run_factory"))


@pytest.mark.usefixtures("guarded")
def test_functions_made_by_a_block_live_on_and_see_later_rebindings() -> None:
    says = ended_by("bump(); bump()\npeek = lambda: count")
    peek, bump = FACTORY.call("counter", says=says)
    assert (peek(), bump(), peek()) == (12, 13, 13)


class Heavy:
    """Something whose end can be seen."""


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    "code",
    [
        "y = 1",
        "return 1",
        "raise ValueError",
        "1 / 0",
        "try:\n    raise KeyError\nexcept KeyError:\n    y = 1",
    ],
)
def test_nothing_is_kept_alive_without_the_garbage_collector(code: str) -> None:
    heavy = Heavy()
    alive = weakref.ref(heavy)
    gc.disable()
    try:
        with contextlib.suppress(ValueError, njrt.ModelError):
            COUNT.call("f", heavy, says=ended_by(code))
        COUNT.model = Scripted([])
        del heavy
        assert alive() is None
    finally:
        gc.enable()


# ── the classes that types name ──────────────────────────────────────────────────────────────────

ORDERING = Program(read_program("run_ordering"))


def test_a_block_may_use_the_classes_that_its_outputs_are_of() -> None:
    code = "order, lines, path = Order(letter), [Line()], '.'"
    order, lines, path = ORDERING.call("outer", "Ida", says=ended_by(code))
    assert (order.customer, type(lines[0]).__name__, path) == ("Ida", "Line", ".")
    assert "Order: class Order\n    Order(customer: str)\n" in ORDERING.told()[0]


def test_modules_that_types_name_stay_invisible() -> None:
    with pytest.raises(njrt.ModelError):
        ORDERING.call("outer", "Ida", says=ended_by("os.sep", "Order = 1", "class Order: x = 1"))
    _, module, binding, definition = ORDERING.told()
    assert module.startswith("line 1: `os` is not visible in this block")
    assert binding.startswith("line 1: `Order` is read-only in this block")
    assert definition == (
        "line 1: `Order` exists already: leave this definition out and use the program's own: "
        "`Order(...)`, or `class NAME(Order):` for a subclass"
    )
