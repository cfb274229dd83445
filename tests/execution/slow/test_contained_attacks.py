"""Attacks on contained code by a hostile child: forged messages, forged changes, jumps, raised exceptions.

The child is a real one, and its code runs without the checks of the guard: it finds the connection in its own frames,
and sends what it likes. All checks must be the program's.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from playing import carry_out

import njrt
from njrt.data.outcome import Raised
from njrt.execution.contained.process import start_server
from njrt.execution.execute import Snippet, execute, prepare
from njrt.execution.results import Execution, Failed, Jumped, Ran
from njrt.execution.scope.opening import make_scope

pytestmark = pytest.mark.usefixtures("contained")

EFFECTS = ("os.system", "subprocess.Popen", "os.fork", "socket.connect")
watched: list[str] | None = None


def notice(event: str, arguments: tuple[object, ...]) -> None:
    if watched is None:
        return
    is_file = event == "open" and not str(arguments[0]).endswith((".py", ".pyc", "/stat"))
    is_code = event == "exec" and "system" in getattr(arguments[0], "co_names", ())
    if is_file or is_code or event in EFFECTS:
        watched.append(f"{event} {arguments!r}"[:200])


sys.addaudithook(notice)


@contextmanager
def watch_effects() -> Iterator[list[str]]:
    """Note the files, processes and sockets that the program opens meanwhile, in all threads."""
    global watched
    found: list[str] = []
    watched = found
    try:
        yield found
    finally:
        watched = None


made: list[int] = []


class Order:
    """A class of the program that the block does not name."""

    kind = "order"

    def __init__(self, number: int = 0) -> None:
        made.append(number)
        self.number, self._secret = number, "k3y"

    def check(self) -> bool:
        return self._secret == "k3y"

    @classmethod
    def make(cls) -> Order:
        return cls(7)


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass(frozen=True)
class Price:
    cents: int


def retry(function: Any, *args: Any, **named: Any) -> Any:
    return function(*args, **named)


def find_order() -> Order:
    return found_order


found_order = Order(1)


def run_hostile(
    code: str, labels: tuple[str, ...] = (), seconds: float = 20, **more: Any
) -> Execution:
    """Run code in a child on a new scene, without the checks of its text; nothing may have an effect."""
    xs: list[Any] = [1]
    order, out, find = Order(), None, find_order
    point, price, path = Point(1, 2), Price(3), pathlib.Path("/etc/hostname")
    call = retry
    variables = lambda: (xs, order, call, find, point, price, path, out)  # noqa: E731
    scope = make_scope(variables, writes="out", at="case.njpy:1")
    snippet = prepare(FIND_CHILD + code, scope, labels=labels, policy="open")
    assert isinstance(snippet, Snippet), snippet
    start_server()
    made.clear()
    with watch_effects() as effects:
        done = execute(dataclasses.replace(snippet, is_contained=True, **more), seconds=seconds)
    assert effects == []
    assert made == []
    assert vars(order).keys() == vars(found_order).keys() == {"number", "_secret"}
    assert order.check()
    assert (Order.kind, found_order.number, point, price.cents) == ("order", 1, (1, 2), 3)
    return done


FIND_CHILD = """
import sys
frame_ = sys._getframe()
while 'self' not in frame_.f_locals or type(frame_.f_locals['self']).__name__ != 'Child':
    frame_ = frame_.f_back
child = frame_.f_locals['self']
connection, encode = child.connection, child.table.encode
refs = {name: encode(it) for name, it in [('xs', xs), ('order', order), ('point', point), ('price', price), ('path', path)]}
key, functions = child.classes.kinds[type(order)][1], (call, find)
del frame_
def raw(*message):
    connection.send([*message])
    return connection.receive()
def call_raw(target, *args):
    return raw('call', [[], [], {}], target, [*args], {})
def change(number, keys, values):
    return raw('call', [[[number, keys, values]], [], {}], ['function', 0], [], {})
def add(*rows, names={}):
    return raw('call', [[], [*rows], names], ['function', 0], [], {})
count = len(child.table.known)
"""


def is_harmless(done: Execution) -> bool:
    """Return whether code ended as a mistake, with a value, or by an exception of its own."""
    if isinstance(done, Jumped):
        outcome = done.outcome
        return isinstance(outcome, Raised) and isinstance(outcome.exception, Exception)
    return isinstance(done, Failed | Ran)


# ── calls that the code may not make ─────────────────────────────────────────────────────────────

TARGETS = [
    *("['function', 99]", "['function', -1]", "['function', 'x']", "['function']"),
    *("['class', key]", "['class', 'builtins:eval']", "['class', 'os:system']", "['class', None]"),
    *("['method', refs['order'], '__init__']", "['method', refs['order'], '__class__']"),
    *("['method', refs['order'], '_secret']", "['method', refs['order'], '__reduce__']"),
    *("['method', refs['order'], '__getattribute__']", "['method', refs['order'], 'number']"),
    *("['method', refs['order'], '__new__']", "['method', refs['order'], '__init_subclass__']"),
    *("['method', ['class', key], 'make']", "['method', ['class', key], 'check']"),
    *("['method', refs['xs'], 'append']", "['method', refs['path'], 'read_text']"),
    *("['method', refs['path'], '__truediv__']", "['method', ['r', 99], 'check']", "['method', ['r', -1], 'check']"),
    *("['method', ['member', key, 'kind', 0], 'check']", "['method', 'text', 'format']", "['method', None, 'check']"),
    *("['get', refs['order'], '__dict__']", "['get', refs['order'], '_secret']", "['get', refs['path'], 'parent']"),
    *("['get', refs['price'], '__class__']", "['get', ['class', key], '__subclasses__']"),
    *("['set', refs['order'], '__class__']", "['set', refs['order'], '_secret']", "['set', refs['order'], 'check']"),
    *("['set', refs['price'], 'cents']", "['set', ['class', key], 'kind']", "['set', refs['path'], 'x']"),
    *("['copy', refs['path'], 'copy']", "['copy', refs['order'], 'error']"),
    *("['use', refs['path'], '__enter__']", "['use', refs['path'], '__iter__']", "['use', refs['path'], '__truediv__']"),
    *("['use', refs['order'], '__exit__']", "['use', refs['xs'], '__iter__']", "['use', ['r', 99], '__next__']"),
    *("['known', 'builtins', 'eval']", "['module', 'os']", "['callback', 0]", "[]", "None", "{}", "['x']"),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_only_what_the_text_names_is_called(target: str) -> None:
    for args in ("", ", 7", ", ['function', 0]", ", refs['order'], 7"):
        reply = f"call_raw({target}{args})"
        done = run_hostile(f"reply = {reply}\nout = reply[0]\nassert out != 'result', reply")
        assert isinstance(done, Failed | Ran), done
        assert "AssertionError" not in getattr(done, "message", ""), done


# ── changes that the code may not make ───────────────────────────────────────────────────────────

NO_VALUES = [
    "['r', 99]", "['r', -1]", "['r', True]", "['r', 'x']", "['r', []]", "['r', 0, 0]", "{}", "[]", "[[]]",
    "['zzz']", "['known', 'os', 'system']", "['known', 'operator', 'attrgetter']",
    "['module', 'subprocess']", "['zone', '../../etc/passwd', '']", "['Decimal', []]", "['slice']",
]  # fmt: skip
NO_ERRORS = [
    "'error', '=os:error', [], [None]", "'error', '=builtins:type', [], [None]",
    "'error', '=builtins:KeyError', [], []", "'error', '=builtins:print', [], [None]",
    "'error', '=builtins:SystemExit', [], [None, 1]", "'error', '=builtins:KeyError', ['_a'], ['', 1, 1]",
    "'group', '=builtins:ExceptionGroup', [], ['m', 1]", "'error', '=builtins:KeyError', ['a', 'b'], ['', 1]",
    "'error', '=builtins:KeyError', [], ['', ['r', count]]",
    "'error', '=builtins:ExceptionGroup', [], [None, 'm', 1]",
    "'error', '=builtins:UnicodeDecodeError', [], [None, 'e', ['b', 'A'], 0, -9, 'r']",
]  # fmt: skip
CHANGES = [
    *(f"change(refs['xs'][1], [], [{it}])" for it in NO_VALUES),
    *(f"add([{it}])" for it in NO_ERRORS),
    "change(refs['order'][1], ['number', '_secret'], [1, 'x'])",
    "change(refs['order'][1], ['number', 'check'], [1, 5])",
    "change(refs['order'][1], ['number', 'approved'], [1, True])",
    "change(refs['order'][1], ['number', 'kind'], [1, 5])",
    "change(refs['order'][1], ['number', '__class__'], [1, ['class', key]])",
    "change(refs['order'][1], ['number'], [])", "change(refs['order'][1], [], [1])",
    "change(refs['point'][1], [], [5, 6])", "change(refs['price'][1], ['cents'], [5])",
    "change(refs['path'][1], ['x'], [1])", "change(refs['path'][1], [], [])", "change(99, [], [])",
    "change(-1, [], [])", "change(True, [], [])", "change(refs['xs'][1], ['x'], [1])",
    "change(refs['xs'][1], [], 3)", "change(refs['xs'][1], None, [])", "add(['object', key, ['number'], [1]])",
    "add(['object', 'os:system', [], []])", "add(['object', 'builtins:object', [], []])",
    "add(['handle', 'os:x', [], []])", "add(['remote', key, [], []])",
    "add(['tuple', child.table.kinds[refs['point'][1]][1], [], [1]])", "add(['tuple', key, [], [1]])",
    "add(['list', key, [], [1]])", "add(['list', '', [1], []])", "add(['set', '', [], [1]])",
    "add(['dict', '', [1], []])", "add(['dict', 'defaultdict=system', [], []])",
    "add(['dict', 'defaultdict=?', [], []])", "add(['deque', 'x', [], []])", "add(['deque', '-1', [], []])",
    "add(['deque', '', ['x'], []])", "add(['tuple', '', [], [['r', count]]])",
    "add(['frozenset', '', [['r', count + 1]], []], ['frozenset', '', [['r', count]], []])",
    "add(*[['tuple', '', [], [['r', count + 1 + n]]] for n in range(300_000)], ['tuple', '', [], []])",
    "add(*[['tuple', '', [], [['r', count + n - 1]] if n else []] for n in range(5000)])",
    "add(['tuple', '', [], [1]], *[['tuple', '', [], 2 * [['r', count + n]]] for n in range(60)], ['set', '', [['r', count + 60]], []])",
    "add(['tuple', '', [], [1]], ['set', '', [['r', count], ['r', count]], []])",
    "add(['tuple', '', [], [1]], ['dict', '', [['r', count], ['r', count]], [1, 1]])",
    "add(['tuple', '', [], [0] * 9_000], *[['tuple', '', [], [['r', count], n]] for n in range(2_000)])",
    "add(['dict', '', [['r', count]], [1]])",
    "add(['set', '', [['Decimal', str(n * (2**61 - 1))] for n in range(200_000)], []])",
    "add(*[['tuple', '', [], [n * (2**61 - 1)]] for n in range(200)], ['set', '', [['r', count + n] for n in range(200)], []])",
    "add(['frozenset', '', [['UUID', f'{n * (2**61 - 1):032x}'] for n in range(2000)], []])",
    "add(['list', '', [], []], ['set', '', [['r', count]], []])",
    "connection.send(['failed', [[], [['list', '', [], []], ['set', '', [['r', count]], []]], {}], 1, [], True, False, None, ''])",
    "add(['dict', '', [k * (2**61 - 1) + 2**61 for k in range(2000)], [1] * 2000])", "add(names={'xs': 1})",
    "add(names={'order': 1})", "add(names={'__builtins__': 1})", "add(names=[['out', 1]])",
    "add(names={'out': ['r', 99]})", "add(names=3)",
]  # fmt: skip


@pytest.mark.parametrize("code", CHANGES)
def test_a_forged_change_is_refused_whole(code: str) -> None:
    done = run_hostile(f"{code}\nout = 'taken'")
    assert isinstance(done, Failed), done


def test_what_a_function_returned_is_read_only() -> None:
    done = run_hostile("found = find()\nfound.number = 5\nxs.append(found)\ncall(find)")
    assert isinstance(done, Failed)
    assert "may only read" in done.message
    # Where the child puts an object changes nothing.
    done = run_hostile("xs.append(find())\ncall(find)\nxs[-1].number = 5")
    assert isinstance(done, Failed)


# ── raw messages ─────────────────────────────────────────────────────────────────────────────────

VALUES = [
    "None", "-1", "2.5", "True", "'__class__'", "[]", "{}", "['r', 1]", "['r', 99999]", "['r', 'x']", "['class', key]",
    "['class', 3]", "['member', key, 'kind', 0]", "['function', 0]", "['function', 99]", "['callback', -1]",
    "['callback', 5]", "['known', 'builtins', 'eval']", "['known', 'os', 'environ']", "['module', 'os']", "['shown', 3]",
    "['i', 3]", "['b', 3]", "['range', 1]", "['date', 'x']", "['Decimal', '1e300000000']", "['Fraction', '1e300000000']",
    "['Fraction', 1, 0]", "['zone', 'x', 'y']", "['unbound']", "['zzz']", "[[[[]]]]", "'x' * 100_000",
]  # fmt: skip
SHAPES = [
    "['call', V, ['function', 0], [], {}]",
    "['call', [V, [], {}], ['function', 0], [], {}]",
    "['call', [[], V, {}], ['function', 0], [], {}]",
    "['call', [[], [], V], ['function', 0], [], {}]",
    "['call', [[[V, V, V]], [], {}], ['function', 0], [], {}]",
    "['call', [[[0, [V], [V]]], [], {}], ['function', 0], [], {}]",
    "['call', [[], [V], {}], ['function', 0], [], {}]",
    "['call', [[], [], {'out': V}], ['function', 0], [], {}]",
    "['call', [[], [], {}], V, [], {}]",
    "['call', [[], [], {}], ['function', 0], V, {}]",
    "['call', [[], [], {}], ['function', 0], [V], {'x': V}]",
    "['call', [[], [], {}], ['function', 0], [], V]",
    "['call', [[], [], {}], ['function', 0], [V], {}, V]",
    "['print', None, V, V]",
    "['note', None, V]",
    "['end', V, 1, None]",
    "['end', [[], [], {}], V, V]",
    "['end', [[], [], {'out': V}], 1, V]",
    "['failed', [[], [], {}], V, [], True, False, None, 'text']",
    "['failed', [[], [], {}], V, [[V, V]], True, True, V, V]",
    "['failed', [[], [V], {}], ['r', count], [], False, False, None, 'text']",
    "['returned', [[], [], {}], V]",
    "['raised', [[], [], {}], V]",
    "['interrupted', V]",
    "['crashed', V]",
    "['refused', V]",
    "[V]",
    "V",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_raw_message_has_no_effect_and_raises_nothing_in_the_program(shape: str) -> None:
    for value in VALUES if "V" in shape else [""]:
        text = shape.replace("V", value)
        done = run_hostile(f"connection.send({text})\nconnection.receive()\nout = 1", seconds=3)
        assert is_harmless(done), text


# ── jumps ────────────────────────────────────────────────────────────────────────────────────────

JUMPS = {2: "return", 3: "break", 4: "continue"}


@pytest.mark.parametrize(
    ("kind", "label"), [*itertools.product(JUMPS, [None, *JUMPS.values(), "bare_return"])]
)
def test_only_jumps_that_the_block_offers_are_taken(kind: int, label: str | None) -> None:
    code = f"connection.send(['end', [[], [], {{}}], {kind}, 5])\nconnection.receive()"
    done = run_hostile(code, labels=(label,) if label else ())
    assert isinstance(done, Jumped if JUMPS[kind] == label else Failed)


ENDING = ["SystemExit", "KeyboardInterrupt", "GeneratorExit"]


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize(
    "code",
    [
        "raise NAME(3)",
        "raise call(NAME, 3)",
        "raise [c for c in BaseException.__subclasses__() if c.__name__ == 'NAME'][0]()",
        "connection.send(['failed', [[], [['error', '=builtins:NAME', [], [None, 3]]], {}], ['r', count], "
        "[], True, False, None, ''])\nconnection.receive()",
    ],
)
def test_code_does_not_end_the_program(code: str, name: str) -> None:
    assert isinstance(run_hostile(code.replace("NAME", name)), Failed)


def test_a_cancellation_that_the_program_does_not_handle_stays_inside() -> None:
    error = "['error', '=asyncio.exceptions:CancelledError', [], [None]]"
    message = f"['failed', [[], [{error}], {{}}], ['r', count], [], True, True, None, '']"
    assert isinstance(run_hostile(f"connection.send({message})\nconnection.receive()"), Failed)


# ── messages that cost more than their size ──────────────────────────────────────────────────────

FAILED = (
    "connection.send(['failed', [[], [['error', '=builtins:ValueError', [], [None, 'a']]], {}], "
    "['r', count], FRAMES, OWN, False, None, TEXT])\nconnection.receive()"
)


@pytest.mark.parametrize("line", [-5, 0, 2**33, 2**62, 2**70])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_far_line_needs_no_memory(line: int, is_own: bool) -> None:
    code = FAILED.replace("FRAMES", f"[[None, {line}]]").replace("OWN", str(is_own))
    done = run_hostile(code.replace("TEXT", "''"))
    assert isinstance(done, Jumped if is_own else Failed)


@pytest.mark.parametrize(
    ("frames", "text"),
    [("[['f', 1]] * 100_000", "'yyy'"), ("[['f' * 10**6, 1]]", "'yyy'"), ("[]", "'y' * 10**6")],
)
def test_the_message_of_a_mistake_is_short(frames: str, text: str) -> None:
    code = FAILED.replace("FRAMES", frames).replace("OWN", "False").replace("TEXT", text)
    done = run_hostile(code)
    assert isinstance(done, Failed)
    assert "yyy" in done.message
    assert len(done.message) < 3000


@pytest.mark.parametrize(
    "text", ["'[' * 8_000_000", "'[' + '0,' * 7_000_000 + '0]'", "'[' * 200_000", "'{'", "'NaN'", "'9' * 5000"]
)  # fmt: skip
def test_a_message_is_counted_before_it_is_parsed(text: str) -> None:
    code = f"data = ({text}).encode()\nconnection.channel.sendall(len(data).to_bytes(4, 'big') + data)\nconnection.receive()"
    assert isinstance(run_hostile(code), Failed)


def test_a_child_that_does_not_read_is_stopped() -> None:
    code = "big = 'x' * 10**6\nm = ['call', [[], [], {}], encode(call), [1, big], {}]\n"
    code += "for _ in range(30):\n    connection.send(m)\nimport time\ntime.sleep(60)"
    with pytest.raises(njrt.errors.CodeTimeLimitError):
        run_hostile(code, seconds=3.0)


def test_one_line_that_formats_positions_of_a_text_crashes_nothing() -> None:
    crash = "raise UnicodeDecodeError('e', b'A' * 64, -2**40, -2**40 + 1, 'r')"
    for code in (crash, f"def g(): {crash}\ng()"):
        assert isinstance(run_hostile(code), Failed)


# ── rules for calls ──────────────────────────────────────────────────────────────────────────────


sent: list[Any] = []


class Mailer:
    """Sends mails; all its methods have a rule."""

    def send(self, to: Any) -> None:
        sent.append(to)

    @staticmethod
    def send_plain(to: Any) -> None:
        sent.append(to)

    @classmethod
    def send_all(cls, to: Any) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __call__(self, to: Any = None) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __setitem__(self, key: Any, to: Any) -> None:
        sent.append(to)

    @njrt.gated(decide="deny")
    def __enter__(self) -> Any:
        sent.append("enter")

    def __exit__(self, *_: Any) -> None:
        return

    @njrt.gated(decide="deny")
    def __add__(self, to: Any) -> Any:
        sent.append(to)


class Urgent(Mailer):
    """A subclass."""


CALLS = [
    "m('x')", "m['x'] = 1", "with m: pass", "m + 1", "Mailer.__call__(m, 'x')", "list(map(m, [1]))", "call(m, 'x')",
    "sorted([1], key=m)", "m.send(1)", "u.send(1)", "m.send_plain(1)", "m.send_all(1)", "Mailer.send(m, 1)",
    "Mailer.send_all(1)", "type(m).send(m, 1)", "call(m.send, 1)", "call(Mailer.send, m, 1)", "bound(1)", "call(bound, 1)",
    "part(1)", "full()", "nested()", "call(part, 1)", "held['send'](1)", "held['part'](1)", "xs.sort(key=m.send)",
    "import operator\noperator.methodcaller('send', 1)(m)", "import functools\nfunctools.partial(m.send, 1)()",
    "import functools\ncall(functools.partial(m.send, 1))", "next(iter(lambda: m.send(1), None))",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_a_rule_for_a_call_holds_on_every_way(code: str) -> None:
    m = Mailer()
    part, full = functools.partial(m.send), functools.partial(Mailer.send, m, 1)
    partials: Any = {"part": part, "full": full, "nested": functools.partial(part, 1)}
    objects: Any = {"m": m, "u": Urgent(), "Mailer": Mailer, "bound": m.send, "xs": [1]}
    held = {"send": m.send, "part": part}
    rules = {
        function: njrt.CallRule(decide="deny")
        for function in (Mailer.send, Mailer.send_plain, Mailer.send_all)
    }
    sent.clear()
    with njrt.using(calls=rules):
        carry_out(code, "contained", call=retry, held=held, **objects, **partials)
    assert sent == []


def test_a_rule_for_a_call_holds_after_the_block() -> None:
    m, held = Mailer(), [None]
    sent.clear()
    with njrt.using(calls={Mailer.send: njrt.CallRule(decide="deny")}):
        carry_out("held.append(send)", "contained", send=m.send, held=held)
        call: Any = held[-1]
        with pytest.raises(PermissionError, match="end with the block"):
            call("x")
    assert sent == []
    m.send("y")
    assert sent == ["y"]


@pytest.mark.parametrize("name", ["__call__", "__setitem__", "__enter__", "__exit__", "__init__"])
def test_a_rule_for_a_special_method_is_refused(name: str) -> None:
    for calls in ({getattr(Mailer, name): njrt.CallRule()}, [getattr(Mailer(), name)]):
        with (
            pytest.raises(njrt.ConfigurationError, match="special method"),
            njrt.using(calls=calls),
        ):
            pass
