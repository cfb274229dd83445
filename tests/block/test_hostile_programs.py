"""Programs whose objects raise, hang or lie wherever they are touched: a block on them ends as it should.

Each program puts one value into a block; what the model's code does with it is harmless.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from programs import Program, ended_by

import njrt
from njrt.testing import ToolCall, run
from spsbench.interfaces import make_settings

pytestmark = pytest.mark.usefixtures("guarded")

HOSTILE = '''
    import weakref

    def hang():
        while True:
            pass

    def lazily():
        import time
        time.sleep(0.15)

    class HangingProperty:
        @property
        def ready(self):
            hang()

    class RaisingProperty:
        @property
        def ready(self):
            raise KeyError("not yet")

    class Liar:
        @property
        def __class__(self):
            return ValueError

    class Raiser:
        @property
        def __class__(self):
            raise RuntimeError("no class")

    class Slow:
        def __repr__(self):
            lazily()
            return "Slow()"

    class Meta(type):
        def __instancecheck__(cls, value):
            hang()

    class Picky(metaclass=Meta):
        pass

    class Gone:
        pass

    def dead():
        return weakref.proxy(Gone())

    def recursive():
        value = [1]
        value.append(value)
        value.append({"self": value})
        return value

    def look(value):
        """natural
        Look at <value> and put 1 into <:seen>.
        """
        return seen

    def complete(value):
        """natural
        Set <:value.ready> of <value>.
        """
        return value

    def check(value):
        """natural
        Make <:result: Picky> of <value>.
        """
        return result
'''


@pytest.fixture(scope="module")
def program() -> Program:
    return Program(HOSTILE)


def made(program: Program, expression: str) -> Any:
    return eval(expression, program.load())


@pytest.mark.parametrize(
    "expression",
    [
        "HangingProperty()",
        "RaisingProperty()",
        "Liar()",
        "Raiser()",
        "[Raiser(), Liar()]",
        "{1: Raiser()}",
        "dead()",
        "recursive()",
        "10 ** 20000",
        "-(10 ** 20000)",
        "[10 ** 20000]",
        "type('N', (), {'__len__': lambda s: -1, '__bool__': lambda s: hang()})()",
        "type('I', (), {'__getattribute__': lambda s, n: hang()})()",
        "type('H', (), {'__hash__': lambda s: hang(), '__eq__': lambda s, o: hang()})()",
        "type('D', (dict,), {'__iter__': hang, 'items': hang, '__len__': hang, 'keys': hang})(a=1)",
        "type('S', (str,), {'__str__': hang, '__len__': hang, '__getitem__': hang})('abc')",
        "type('E', (Exception,), {'__str__': lambda s: hang(), 'args': property(hang)})('x')",
        "Picky",
        "Picky.__new__(Picky)",
    ],
)
def test_any_value_may_be_looked_at(program: Program, expression: str) -> None:
    start = time.process_time()
    value = made(program, expression)
    assert program.call("look", value, says=ended_by("value\nseen = 1")) == 1
    assert time.process_time() - start < 2


def test_looking_at_many_slow_objects_takes_a_second_at_most(program: Program) -> None:
    value = made(program, "[Slow() for _ in range(100)]")
    start = time.monotonic()
    assert program.call("look", value, says=ended_by("seen = 1")) == 1
    assert time.monotonic() - start < 10  # of 15
    assert "Slow()" in program.told()[0]


def test_many_classes_that_hang_take_a_second_at_most(program: Program) -> None:
    value = made(
        program, "[type(f'K{n}', (), {'__repr__': lambda s: hang()})() for n in range(50)]"
    )
    start = time.process_time()
    assert program.call("look", value, says=ended_by("seen = 1")) == 1
    assert time.process_time() - start < 2.5


def test_an_output_path_that_hangs_is_stopped(program: Program) -> None:
    start = time.process_time()
    with pytest.raises(njrt.errors.CodeTimeLimitError):
        program.call(
            "complete",
            made(program, "HangingProperty()"),
            says=ended_by("value.other = 1"),
            max_code_seconds=0.2,
        )
    assert time.process_time() - start < 1.5


def test_an_output_path_that_raises_counts_as_unset(program: Program) -> None:
    with pytest.raises(njrt.CallLimitError):
        program.call(
            "complete",
            made(program, "RaisingProperty()"),
            says=ended_by("value.other = 1", "value.other = 2"),
            max_calls=2,
        )
    assert "`value.ready` is not bound yet" in program.told()[1]


def test_a_type_whose_check_hangs_is_stopped(program: Program) -> None:
    start = time.process_time()
    with pytest.raises(njrt.errors.CodeTimeLimitError):
        program.call("check", 1, says=ended_by("result = value"), max_code_seconds=0.2)
    assert time.process_time() - start < 1.5


def test_only_real_exceptions_are_raised(program: Program) -> None:
    says = [
        [ToolCall("1", "raise", {"error": "value"}, "")],
        [ToolCall("2", "exec", {"code": "seen = 1"}, "")],
        [ToolCall("3", "done", {}, "")],
    ]
    for expression in ("Liar()", "Raiser()"):
        value = made(program, expression)
        assert program.call("look", value, says=says, **make_settings("shared-python")) == 1
        assert "in your code, line 1: raise" in program.told()[1]


def test_a_liar_kept_from_an_earlier_reply_does_no_harm(program: Program) -> None:
    first = (
        "class R:\n    def __getattr__(self, name): raise RuntimeError('no ' + name)\nkept = R()"
    )
    says = [run(first), run("kept\nseen = 1", done=True)]
    assert program.call("look", 1, says=says) == 1


def test_an_exception_that_cannot_be_written_is_told_all_the_same(program: Program) -> None:
    def fails(error: type[Exception]) -> None:
        raise error

    for body in ("raise SystemExit", "hang()", "return 3", "raise s"):
        error = made(
            program,
            f"(lambda names: (exec('class E(Exception):\\n    def __str__(s):\\n        {body}', names), "
            "names['E'])[1])({'hang': hang})",
        )
        says = [run("value()"), run("seen = 1", done=True)]
        value = partial(fails, error)
        assert program.call("look", value, says=says) == 1
        assert program.told()[1].startswith("E: <its message cannot be shown")


RECURSIVE = Program('''
    def count(n):
        """natural
        Put 0 into <:total> if <n> is 0, else one more than what <count> gives for one less.
        """
        return total
''')


def test_the_programs_recursion_error_is_raised_at_once() -> None:
    requests = []

    def recurse(request: object) -> ToolCall:
        requests.append(request)
        return run("total = count(n - 1) + 1", done=True)

    with pytest.raises(RecursionError):
        RECURSIVE.call("count", 0, says=recurse)
    assert 150 < len(requests) < 200  # none of them was asked a second time


def test_a_recursion_error_of_the_models_code_is_the_models_mistake_without_a_note() -> None:
    says = [run("def f(): f()\nf()"), run("total = 1", done=True)]
    assert RECURSIVE.call("count", 5, says=says) == 1
    assert "RecursionError" in RECURSIVE.told()[1]
    assert "setrecursionlimit" not in RECURSIVE.told()[1]
