"""Names: where a snippet's reads and writes go, in every kind of host."""

# The variables that only snippets bind look undefined and unused to ruff, and lambdas late-bound.
# ruff: noqa: B023, F821

from __future__ import annotations

import asyncio
import enum
import math as math_module
import sys

import pytest
from playing import FailedCode, Refused, aplay, message_of, play, ready

from njrt.execution.execute import execute
from njrt.execution.scope.opening import make_scope

counter = 1
noted: list[int] = []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("code", [r'y = len("\d") - 1', "y = 1 if x is 1 else 2"])
def test_a_warning_of_the_compiler_is_not_an_error(code: str) -> None:
    """A recording is made without `-W error`, and is replayed by tests that have it."""

    def f(x):
        y: int
        play(lambda: (x, y), code, writes="y")
        return y

    assert f(1) == 1


def test_binds_a_parameter() -> None:
    def f(x):
        play(lambda: (x,), "x += 1", writes="x")
        return x

    assert f(1) == 2


def test_binds_an_unbound_local() -> None:
    def f():
        y: int
        play(lambda: (y,), "y = 7", writes="y")
        return y

    assert f() == 7


def test_leaves_an_unbound_local_unbound() -> None:
    def f():
        y: int
        play(lambda: (y,), "pass", writes="y")
        return y

    with pytest.raises(NameError):
        f()


def test_binds_nonlocals_and_enclosing_variables_are_read() -> None:
    def outer(step):
        n = 0

        def more():
            nonlocal n
            play(lambda: (n, step), "n += step", writes="n")

        more()
        more()
        return n

    assert outer(5) == 10


def test_a_global_function_sees_the_rebinding_at_once() -> None:
    def note():
        noted.append(counter)

    def more():
        global counter
        play(lambda: (counter, note), "counter = 77\nnote()", writes="counter")

    more()
    assert noted[-1] == 77


def test_closures_and_snippets_see_each_other_rebind() -> None:
    def f():
        x = 1
        log = []

        def see():
            log.append(x)

        def bump():
            nonlocal x
            x += 100

        value = play(lambda: (x, see, bump), "x = 2\nsee()\nbump()\nsee()\nx", writes="x")
        return x, log, value

    assert f() == (102, [2, 102], 102)


def test_module_level_code_runs_on_the_modules_dictionary() -> None:
    module = {"__name__": "host", "play": play, "x": 3}
    exec(
        "play(lambda: (x, y), 'tmp = x + 1\\ndef h(): return tmp', 'y = h() * 2', writes='y')",
        module,
    )
    assert module["y"] == 8
    assert not {"tmp", "h"} & module.keys()


def test_functions_made_at_module_level_are_the_modules_own() -> None:
    module = {"__name__": "host", "play": play}
    source = "def make(): return K()\\nclass K:\\n    def m(self): pass"
    exec(f"play(lambda: (make, K), '{source}', writes='make K')", module)
    make, kind = module["make"], module["K"]
    assert (make.__module__, make.__qualname__) == ("host", "make")
    assert (kind.__module__, kind.__qualname__, kind.m.__qualname__) == ("host", "K", "K.m")
    assert make.__globals__ is module
    assert type(make()) is kind


def test_functions_outlive_the_block_and_share_its_variables() -> None:
    def f():
        n = 0
        inc: object
        source = "calls = 0\ndef inc():\n    nonlocal n, calls\n    n += 1; calls += 1\n    return n, calls"
        play(lambda: (n, inc), source, writes="n inc")
        inc()
        n += 10
        return inc(), n, inc

    pair, n, inc = f()
    assert (pair, n, inc()) == ((12, 2), 12, (13, 3))
    assert inc.__globals__ is globals()
    assert inc.__module__ == __name__
    assert inc.__qualname__.endswith("f.<locals>.inc")


def test_global_in_a_nested_function_means_the_blocks_variable() -> None:
    def f():
        n = 0
        source = "cnt = 0\ndef inc():\n    global n, cnt\n    n += 1; cnt += 1\ninc(); inc()"
        play(lambda: (n,), source, "n += cnt * 100", writes="n")
        return n

    assert f() == 202
    assert not {"n", "cnt"} & globals().keys()


def test_nonlocal_of_a_global_and_of_a_functions_own() -> None:
    def more():
        global counter
        source = (
            "def f():\n    nonlocal counter\n    counter = 5\n"
            "    def g():\n        nonlocal own\n        own = 2\n    own = 1\n    g()\n    return own\n"
            "f()"
        )
        return play(lambda: (counter,), source, writes="counter")

    assert more() == 2
    assert counter == 5


@pytest.mark.parametrize("outer", ["global", "nonlocal"])
@pytest.mark.parametrize("inner", ["global", "nonlocal"])
@pytest.mark.parametrize("kind", ["def more():", "class Box:"])
def test_declarations_in_each_other_mean_the_blocks_variable(
    outer: str, inner: str, kind: str
) -> None:
    source = (
        f"def f():\n    {outer} VAR\n    VAR = 7\n    {kind}\n        {inner} VAR\n        VAR += 1\n"
        f"    {'more()' if 'def' in kind else 'pass'}\nf()"
    )

    def in_a_function() -> int:
        n = 0
        play(lambda: (n,), source.replace("VAR", "n"), writes="n")
        return n

    def in_the_module() -> None:
        global counter
        play(lambda: (counter,), source.replace("VAR", "counter"), writes="counter")

    in_the_module()
    assert (in_a_function(), counter) == (8, 8)


def test_hidden_global_is_refused() -> None:
    source = "def f():\n    n = 1\n    def g():\n        global n\n        n = 2\n    g()"
    assert "rename one of them" in message_of("n = 0\n" + source)


def test_future_annotations_of_the_program_hold_in_its_blocks() -> None:
    source = "def f(x: Unknown): pass\\nnotes = f.__annotations__"
    module = {"__name__": "host", "play": play}
    exec(
        f"from __future__ import annotations\nplay(lambda: (notes,), '{source}', writes='notes')",
        module,
    )
    assert module["notes"] == {"x": "Unknown"}
    module = {"__name__": "host", "play": play}
    code = compile(
        f"play(lambda: (notes,), '{source}', writes='notes')", "host", "exec", dont_inherit=True
    )
    with pytest.raises(Refused, match="`Unknown` is not visible"):
        exec(code, module)


def test_top_level_global_and_annotations() -> None:
    def f():
        y: int
        source = "global y, tmp\ny: int\ntmp: list[Missing] = [1, 2]\ny: int = sum(tmp)"
        play(lambda: (y,), source, writes="y")
        return y

    assert f() == 3


def test_scratch_names_are_kept_between_snippets() -> None:
    source = """
import collections.abc, json as j
from math import pi as p
for q in range(3): pass
try: 1/0
except ZeroDivisionError as e: msg = str(e)
match [1, 2, 3]:
    case [a, *b]: pass
match {"k": 1, "l": 2}:
    case {"k": k, **rest}: pass
with memoryview(b"x") as view: first = view[0]
class K: v = 1
if (w := 4): pass
"""
    names = "collections.abc.__name__, j.dumps(1), round(p), q, msg, a, b, k, rest, first, K.v, w"
    value = play(lambda: (), source, names)
    expected = ("collections.abc", "1", 3, 2, "division by zero", 1, [2, 3], 1, {"l": 2}, 120, 1, 4)
    assert value == expected


def test_the_name_of_an_exception_goes_as_in_python() -> None:
    message = message_of("try: 1/0\nexcept ZeroDivisionError as e: pass\ne")
    assert message.startswith("NameError")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[x * k for x in xs if x != k]", [3]),
        ("list(x + k for x in xs)", [4, 6]),
        ("{x: y for x in xs for y in range(x)}", {1: 0, 3: 2}),
        ("(lambda q=k: q + k)()", 6),
        ("def g():\n    return [(lambda z: z + k)(z) for z in xs]\ng()", [4, 6]),
        ("[(w := v) for v in xs], w", ([1, 3], 3)),
        ("[[x for x in range(y)] for y in xs]", [[0], [0, 1, 2]]),
        ("class A:\n    n = k\n    m = [n for n in (1, 2)]\nA.n, A.m", (3, [1, 2])),
        ("def f(*args, **kw): return args, kw\nf(*xs, k=k)", ((1, 3), {"k": 3})),
        ("def f(n): return 1 if n == 0 else n * f(n - 1)\nf(5)", 120),
        ("class A:\n    def m(self): return __class__.__name__\nA().m()", "A"),
        ("class P:\n    def m(self): return 1\nclass Q(P):\n    def m(self): return super().m() + 1\nQ().m()", 2),
        ("del xs[0]; xs", [3]),
        ("t = 1\ndel t\nt = 2\nt", 2),
        ("__name__", __name__),
        ("s = '''a\n  b\n\tc'''\ns", "a\n  b\n\tc"),
        ("  s = '''a\n b'''\n  s", "a\n b"),
        ("", None),
        ("# nothing", None),
        ("'only a string'", "only a string"),
        ("from __future__ import annotations\ndef f(a: Later): pass\nf.__annotations__['a']", "Later"),
    ],
)  # fmt: skip
def test_expressions_over_shared_names(source: str, expected: object) -> None:
    def f(xs):
        k = 3
        return play(lambda: (xs, k), source)

    assert f([1, 3]) == expected


def test_a_comprehension_variable_does_not_leak() -> None:
    def f(x):
        r: list
        play(lambda: (x, r), "r = [x for x in range(3)]", writes="r")
        return x, r

    assert f("keep") == ("keep", [0, 1, 2])


def test_walrus_in_a_comprehension_binds_the_shared_name() -> None:
    def f(xs):
        last = None
        play(lambda: (xs, last), "t = [last := v for v in xs]", writes="last")
        return last

    assert f([1, 2, 9]) == 9


def test_del_unbinds_the_shared_name() -> None:
    def f():
        y = 1
        play(lambda: (y,), "del y", writes="y")
        return y

    with pytest.raises(NameError):
        f()
    module = {"__name__": "host", "play": play, "y": 1}
    exec("play(lambda: (y,), 'del y', writes='y')", module)
    assert "y" not in module


def test_late_binding_of_a_loop_variable() -> None:
    def f():
        found = []
        for i in range(3):
            play(lambda: (i, found), "found.append(lambda: i)")
        return [function() for function in found]

    assert f() == [2, 2, 2]


def test_soft_keywords_and_unicode() -> None:
    def f(match, case, type, _):
        naïve: tuple
        fi: int
        source = "naïve = (match, case, type, _)\nﬁ = 1"
        play(lambda: (match, case, type, _, naïve, fi), source, writes="naïve fi")
        return naïve, fi

    assert f(1, 2, 3, 4) == ((1, 2, 3, 4), 1)


# --- classes


class Account:
    def __init__(self) -> None:
        self.__balance = 1

    def private(self):
        __x = 5
        sources = "__x += self.__balance\n__t = 3", "__x += __t"
        play(lambda: (__x, self), *sources, writes="__x", cls="Account")
        return __x

    def read_only(self):
        __x = 5
        play(lambda: (__x,), "__x = 1", cls="Account")


class Base:
    def m(self):
        return "A"


class Derived(Base):
    def m(self):
        r = super().m()
        source = "r += super().m() + __class__.__name__"
        play(lambda: (super, __class__, self, r), source, writes="r", me="self")
        return r

    def unnamed(self):
        play(lambda: (self,), "super().m()")


def test_private_names_are_mangled() -> None:
    assert Account().private() == 9
    with pytest.raises(Refused, match=r"^line 1: `__x` is read-only"):
        Account().read_only()


def test_super_and_class_in_a_method() -> None:
    assert Derived().m() == "AADerived"
    with pytest.raises(FailedCode, match=r"super\(\): no arguments"):
        Derived().unnamed()


def test_class_body_reads_and_binds_in_the_namespace() -> None:
    source = "'doc'\ntmp = 5\nb = a + k + tmp"

    def make(k):
        class C:
            a = 1
            play(lambda: (k,), source, writes="b", ns=locals(), own="a b")
            c = b + 1

        return C

    made = make(10)
    assert (made.a, made.b, made.c) == (1, 16, 17)
    assert not hasattr(made, "tmp")
    assert made.__doc__ is None
    assert made.__module__ == __name__
    assert made.__qualname__.endswith("make.<locals>.C")


def test_class_body_with_annotations_and_a_method() -> None:
    def make(k):
        class C:
            own: str = "o"
            source = "x: int = 1\ny: str\ntmp: int = 2\ndef m(self): return k + tmp"
            play(lambda: (k,), source, writes="x y m", ns=locals(), own="x y m")

        return C

    made = make(3)
    assert list(made.__annotations__) == ["own", "x", "y"]
    assert made().m() == 5
    assert made.m.__qualname__ == f"{made.__qualname__}.m"


def test_class_body_of_an_enum() -> None:
    class E(enum.Enum):
        A = 1
        play(lambda: (), "B = A + 1\n'the value of a snippet'", writes="B", ns=locals(), own="A B")

    assert [(member.name, member.value) for member in E] == [("A", 1), ("B", 2)]


def test_class_body_with_nonlocal_and_global() -> None:
    source = "x += 1\ncounter = 50"

    def f():
        x = 1

        class C:
            nonlocal x
            global counter
            play(lambda: (x, counter), source, writes="x counter", ns=locals(), nl="x")

        return x, "x" in vars(C), "counter" in vars(C)

    assert (*f(), counter) == (2, False, False, 50)


def test_class_body_with_private_names() -> None:
    class Q:
        __p = 2
        play(lambda: (), "__r = __p + 1\ndef __m(self): return __t\n__t = 8", writes="__r __m", ns=locals(), own="__p __r __m", cls="Q")  # fmt: skip
        ok = __r

    assert (Q.ok, Q()._Q__m()) == (3, 8)


def test_class_body_method_with_bare_super() -> None:
    class B(Base):
        play(lambda: (), "def m(self): return super().m() + 'B'", writes="m", ns=locals(), own="m")

    assert B().m() == "AB"


def test_class_body_jumps_leave_the_programs_loop() -> None:
    def step(namespace, i, jump):
        source = f"try:\n    seen = {i}\n    if {i} == 1: {jump}\nfinally: last = {i}\nseen = 'end'"
        scope = make_scope(lambda: (), writes="seen last", ns=namespace, own="seen last")
        return type(execute(ready(source, scope, "break continue")).outcome).__name__

    for jump, name in (("break", "Broke"), ("continue", "Continued")):
        namespace: dict[str, object] = {}
        assert step(namespace, 1, jump) == name
        assert namespace == {"seen": 1, "last": 1}


def test_a_cancelled_jump_in_a_class_body_is_none() -> None:
    source = "try:\n    try: break\n    finally: raise KeyError\nexcept KeyError: pass\nx = 1"
    namespace: dict[str, object] = {}
    play(lambda: (), source, labels="break", writes="x", ns=namespace, own="x")
    assert namespace == {"x": 1}


def test_functions_in_a_class_body_cannot_see_its_names() -> None:
    message = message_of("b = [a for _ in (1,)]", writes="b", ns={"a": 1}, own="a b")
    assert "functions and comprehensions in it cannot see it" in message


def test_a_strict_class_namespace_never_sees_the_machinery() -> None:
    class OnlyOnce(dict):
        def __setitem__(self, name, value):
            assert name not in self, name
            super().__setitem__(name, value)

    class Meta(type):
        @classmethod
        def __prepare__(cls, name, bases):
            return OnlyOnce()

        def __new__(cls, name, bases, namespace):
            return super().__new__(cls, name, bases, dict(namespace))

    source = "x = len('ab')\ndef m(self): return self.x"

    class C(metaclass=Meta):
        play(lambda: (), source, writes="x m", ns=locals(), own="x m")

    assert C().m() == 2


# --- async


def test_await_in_async_functions() -> None:
    async def value(k):
        await asyncio.sleep(0)
        return k * 2

    async def work(k):
        r: int
        source = "r = await value(k)\nasync def twice(): return [await value(n) async for n in count(2)]\nr += sum(await twice())"
        await aplay(lambda: (k, r, value, count), source, writes="r")
        return r

    async def count(n):
        for i in range(n):
            yield i

    async def main():
        return await asyncio.gather(*(work(k) for k in range(4)))

    assert asyncio.run(main()) == [2, 4, 6, 8]


# --- visibility


def test_only_referenced_names_and_builtins_are_visible() -> None:
    invisible = 1

    def f(response):
        return message_of("respones", lambda: (response,), writes="response")

    message = f(invisible)
    assert message.startswith(
        "line 1: `respones` is not visible in this block; did you mean `response`?"
    )
    assert "`math_module` is not visible" in message_of("math_module.pi")
    assert math_module.pi


def test_a_shadowed_builtin_still_means_the_builtin() -> None:
    module = {"__name__": "host", "play": play, "len": lambda value: -1, "id": 7}
    exec("R = play(lambda: (), 'len([1, 2]), callable(id)')", module)
    assert module["R"] == (2, True)
    exec("R = play(lambda: (len, id), 'len([1, 2]), id')", module)
    assert module["R"] == (-1, 7)


def test_a_shadowed_builtin_in_a_class_body() -> None:
    assert play(lambda: (), "list('ab')", ns={"list": 1}) == ["a", "b"]


def test_read_only_names_are_refused_with_a_way_out() -> None:
    def f(item):
        return message_of("item = 1", lambda: (item,))

    assert f(3) == (
        "line 1: `item` is read-only in this block: the prompt says `<item>`, not `<:item>`; "
        "bind another name instead (changing the object itself is allowed)"
    )


def test_importing_what_is_already_there_is_no_write() -> None:
    assert play(lambda: (math_module, enum), "import enum\nenum.__name__") == "enum"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 695 came with Python 3.12")
def test_type_parameters() -> None:
    source = "def f[T](x: T) -> T: return x\nclass A[T]:\n    x: T\ntype P[T] = tuple[T, A]\nf(2), P.__name__"
    assert play(lambda: (), source) == (2, "P")


@pytest.mark.parametrize(
    "code",
    [
        "text = 'four'\nfound = text",
        "text: str = 'four'\nfound = text",
        "text = 'four'; found = text",
        "text = '''four'''\nfound = text\ntext = \"four\"",
        "    text = 'four'\n    found = text",
        "text = ('f'\n    'our')\nfound = text",
        "é = 'ü'; text = 'four'; found = text",
    ],
)
def test_an_input_that_is_written_down_again_stays_as_it_is(code: str) -> None:
    def f(text):
        found = None
        play(lambda: (text, found), code, writes="found")
        return text, found

    given = "".join(["fo", "ur"])
    text, found = f(given)
    assert text is given
    assert found is given


def test_lines_keep_their_numbers_where_an_input_is_written_down_again() -> None:
    def f(text):
        play(lambda: (text,), "text = 'four'\nnumber = 1 / 0", writes="")

    with pytest.raises(FailedCode, match=r"line 2: number = 1 / 0"):
        f("four")


@pytest.mark.parametrize("value", [1, -1.5, True, None, b"x", "a\nb"])
def test_every_plain_value_may_be_written_down_again(value: object) -> None:
    def f(given):
        play(lambda: (given,), f"given = {value!r}", writes="")
        return given

    assert f(value) is value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (1, "given = True"),
        (1, "given = 1.0"),
        (0.0, "given = -0.0"),
        ("four", "given = 'five'"),
        ("four", "if True:\n    given = 'four'"),
        ("four", "given, number = 'four', 1"),
        ("four", "given = 'four'\ngiven = 'five'"),
        ([1], "given = [1]"),
        (type("Text", (str,), {})("four"), "given = 'four'"),
    ],
)
def test_what_is_not_the_same_plain_value_is_refused(value: object, code: str) -> None:
    def f(given):
        play(lambda: (given,), code, writes="")

    with pytest.raises(Refused, match="`given` is read-only in this block"):
        f(value)
