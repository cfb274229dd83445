"""The asserts after a block are its contract: a reply that breaks one goes back to the model, with the values in it.

PROGRAMS have two wrong replies each. A scripted model corrects itself when it is told what does not hold.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import textwrap
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import njrt
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.execution.contracts import Contract, make_contract
from njrt.testing import Request, UserMessage, run

HEAD = """\
import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from math import isclose


@dataclass
class Plan:
    start: int
    end: int
    stops: list[str] = field(default_factory=list)


"""


@dataclass(frozen=True)
class Program:
    """A function `f` with a block and asserts, what it is called with, and replies of the model.

    `wrong` are replies that break the asserts, each with a text that the model must be shown; `right` is the
    corrected one. Replies are code, or data of a block that answers.
    """

    text: str
    wrong: tuple[tuple[Any, str], tuple[Any, str]]
    right: Any
    result: Any = None
    arguments: str = ""


def block(prompt: str, asserts: str, head: str = "def f():", tail: str = "return x") -> str:
    body = f'"""natural\n{prompt}\n"""\n{asserts}\n{tail}'
    return f"{head}\n{textwrap.indent(body, '    ')}\n"


PROGRAMS = {
    "a comparison": Program(
        block("Put a number into <:x: int>.", "assert x > 3"),
        (({"x": 3}, "x = 3"), ({"x": -1}, "x = -1")),
        {"x": 4},
        4,
    ),
    "code": Program(
        block("Put a number into <:x>.", "assert x > 3"),
        (("x = 3", "x = 3"), ("x = -1", "`x > 3`")),
        "x = 4",
        4,
    ),
    "a message": Program(
        block("Put a number into <:x: int>.", 'assert x > 3, f"{x} is too small"'),
        (({"x": 3}, "(3 is too small)"), ({"x": 2}, "(2 is too small)")),
        {"x": 4},
        4,
    ),
    "several asserts": Program(
        block("Put a word into <:x: str>.", "assert x\nassert x.isupper()\nassert len(x) == 2"),
        (({"x": "ab"}, "`x.isupper()`"), ({"x": "ABC"}, "x = 'ABC'")),
        {"x": "AB"},
        "AB",
    ),
    "and": Program(
        block("Put a number into <:x: int>.", "assert x > 1 and x < 5 and x != 3"),
        (({"x": 9}, "`x < 5`"), ({"x": 3}, "`x != 3`")),
        {"x": 2},
        2,
    ),
    "attributes": Program(
        block("Put into <:x: Plan> a plan.", "assert x.end > x.start"),
        (
            ({"x": {"start": 3, "end": 1, "stops": []}}, "x = Plan(start=3, end=1, stops=[])"),
            ({"x": {"start": 3, "end": 3, "stops": []}}, "`x.end > x.start`"),
        ),
        {"x": {"start": 1, "end": 3, "stops": []}},
    ),
    "all": Program(
        block("Put words into <:x: list[str]>.", "assert all(len(word) < 4 for word in x)"),
        (
            ({"x": ["ab", "abcde"]}, "x = ['ab', 'abcde']"),
            ({"x": ["abcd", "a"]}, "= ['abcd', 'a']"),
        ),
        {"x": ["a"]},
        ["a"],
    ),
    "another variable of the function": Program(
        block("Put a number into <:x: int>.", "assert x <= limit", "def f(limit=3):"),
        (({"x": 9}, "limit = 3"), ({"x": 4}, "x = 4")),
        {"x": 3},
        3,
    ),
    "a variable that is changed in place": Program(
        block("Sort <x>.", "assert x == sorted(x)", "def f(x):"),
        (("pass", "x = [2, 1]"), ("x.reverse(); x.append(0)", "x = [1, 2, 0]")),
        "x.sort()",
        None,
        "[2, 1]",
    ),
    "a loop": Program(
        "def f():\n    found = []\n    for n in (1, 2):\n"
        '        """natural\n        Double <n> into <:x: int>.\n        """\n'
        "        assert x == 2 * n\n        found.append(x)\n    return found\n",
        (({"x": 3}, "n = 1"), ({"x": 5}, "x = 5")),
        None,
        [2, 4],
    ),
    "a jump that is not taken": Program(
        "def f():\n    for n in (1,):\n"
        '        """natural\n        Double <n> into <:x: int>, or break.\n        """\n'
        "        assert x == 2 * n\n        return x\n",
        (({"x": 3}, "n = 1"), ({"x": 5}, "x = 5")),
        {"x": 2},
        2,
    ),
    "a method": Program(
        "class Box:\n    def __init__(self):\n        self.__top = 5\n\n    def fill(self):\n"
        '        """natural\n        Put a number into <:x: int>.\n        """\n'
        "        assert x < self.__top\n        return x\n\n\ndef f():\n    return Box().fill()\n",
        (({"x": 7}, "`x < self.__top`"), ({"x": 5}, "x = 5")),
        {"x": 1},
        1,
    ),
    "the class of a method": Program(
        "class Box:\n    top = 5\n\n    def fill(self):\n"
        '        """natural\n        Put a number into <:x: int>.\n        """\n'
        "        assert x < __class__.top\n        return x\n\n\ndef f():\n    return Box().fill()\n",
        (({"x": 7}, "`x < __class__.top`"), ({"x": 5}, "x = 5")),
        {"x": 1},
        1,
    ),
    "an imported function": Program(
        block("Put a number into <:x: float>.", "assert isclose(x, 0.5)"),
        (({"x": 0.75}, "x = 0.75"), ({"x": 1.0}, "`isclose(x, 0.5)`")),
        {"x": 0.5},
        0.5,
    ),
    "an expression": Program(
        block("Put a code into <:x: str>.", r'assert re.fullmatch(r"[A-Z]\d", x)'),
        (({"x": "a1"}, "x = 'a1'"), ({"x": "A"}, "x = 'A'")),
        {"x": "B7"},
        "B7",
    ),
    "a counter": Program(
        block("Put words into <:x: list[str]>.", "assert len(set(x)) == len(x)"),
        (
            ({"x": ["a", "a"]}, "`len(set(x)) == len(x)`"),
            ({"x": ["b", "c", "b"]}, "x = ['b', 'c', 'b']"),
        ),
        {"x": ["a", "b"]},
        ["a", "b"],
    ),
    "an exception in the assert": Program(
        block("Put words into <:x: list[str]>.", 'assert x[0] == "a"'),
        (({"x": []}, "raises IndexError"), ({"x": ["b"]}, "x = ['b']")),
        {"x": ["a"]},
        ["a"],
    ),
    "a method that None does not have": Program(
        block("Put a code into <:x: str>.", r"assert re.match(r'[A-Z](\d)', x).group(1) > '4'"),
        (({"x": "a1"}, "raises AttributeError: 'NoneType'"), ({"x": "A3"}, "x = 'A3'")),
        {"x": "B7"},
        "B7",
    ),
    "a method as a key": Program(
        block(
            "Put a word into <:x: str>.",
            "assert x == max(n, key=n.get)\nassert all(map(int.from_bytes, [b'a'])) and list(map(x.startswith, 'a')) == [True]",
            "def f(n={'b': 1, 'ab': 2, 'c': 0}):",
        ),
        (({"x": "b"}, "n = {'b': 1, 'ab': 2, 'c': 0}"), ({"x": "c"}, "x = 'c'")),
        {"x": "ab"},
        "ab",
    ),
    "a chain and a lambda": Program(
        block("Put numbers into <:x: list[int]>.", "assert 0 < min(x, key=lambda n: -n) <= 5"),
        (({"x": [9]}, "x = [9]"), ({"x": [-3]}, "x = [-3]")),
        {"x": [1, 5]},
        [1, 5],
    ),
}


def test_an_assert_that_the_block_cannot_mend_is_no_contract() -> None:
    text = """
def f(x: int, point: tuple[int, str], xs: list[int], other):
    \'\'\'natural
    Put into <:y: int> what <x>, <point>, <xs> and <other> have in common.
    \'\'\'
    assert x > 3 and point[0]
    assert xs
    assert other
    assert y > x
    return y
"""
    (contract,) = compile_source(SourceFile("p.njpy", text.encode())).contracts
    assert contract.texts == ("xs", "other", "y > x")


def load(text: str) -> dict[str, Any]:
    """Return the names of a program, compiled and run as a module."""
    compiled = compile_source(SourceFile("program.njpy", text.encode()))
    assert compiled.output is not None, compiled.diagnostics
    module = sys.modules["contract_program"] = ModuleType("contract_program")
    exec(compile(compiled.output.decode(), "program.py", "exec"), vars(module))
    return vars(module)


def say(reply: Any) -> Any:
    return run(reply, done=True) if isinstance(reply, str) else reply


CASES = [
    pytest.param(program, wrong, id=f"{name} {number}")
    for name, program in PROGRAMS.items()
    for number, wrong in enumerate(program.wrong)
]


def show(request: Request) -> str:
    """Return the text of the last message."""
    last = request.messages[-1]
    return last.text if isinstance(last, UserMessage) else str(last)


@pytest.mark.parametrize(("program", "wrong"), CASES)
def test_a_wrong_reply_is_mended_in_the_next_call(
    program: Program, wrong: tuple[Any, str], tmp_path: Path
) -> None:
    reply, shown = wrong
    right = [{"x": 2}, {"x": 4}] if program.right is None else [program.right]
    model = njrt.Scripted([say(each) for each in (reply, *right)], protocol="text")
    space, trace = load(HEAD + program.text), tmp_path / "trace.jsonl"
    with njrt.using(model=model, trace=trace):
        result = eval(f"f({program.arguments})", space)
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    refused = next(line["result"] for line in lines if line["event"] == "performed")
    assert "must be true" in refused
    assert shown in refused
    asked = list(map(show, model.requests))
    if isinstance(reply, str):
        assert "the code has run, but" in asked[1]
        assert shown in asked[1]
    else:
        assert asked[1].startswith(f"{asked[0]}\n\nA reply is accepted only if ")
    assert len(asked) == 1 + len(right)
    if program.result is not None:
        assert result == program.result


def test_the_last_failure_is_the_assertion_error_of_the_program() -> None:
    text = block("Put a number into <:x: int>.", "assert x > 3, 'too small'")
    model = njrt.Scripted([{"x": number} for number in range(4)], protocol="text")
    with njrt.using(model=model), pytest.raises(AssertionError, match="too small"):
        load(HEAD + text)["f"]()
    assert len(model.requests) == 4


@pytest.mark.parametrize("tail", ["return LATER", "later = 3\nreturn later"])
def test_a_name_that_is_not_bound_is_an_error_of_the_program(tail: str) -> None:
    name = tail.removeprefix("later = 3\n").removeprefix("return ")
    text = block("Put a number into <:x: int>.", f"assert x > {name}", tail=tail)
    model = njrt.Scripted([{"x": 1}], protocol="text")
    with njrt.using(model=model), pytest.raises(NameError, match=name):
        load(HEAD + text)["f"]()


@pytest.mark.parametrize("first", ["x = 0", "pass"])
@pytest.mark.parametrize("end", [{"break": True}, {"raise": "ValueError", "message": "no"}, None])
def test_refused_data_is_not_bound_after_another_end(first: str, end: Any) -> None:
    text = f"""
def f():
    {first}
    try:
        for n in (1,):
            '''natural
            Put a number into <:x: int>, or break, or raise a ValueError.
            '''
            assert x > 3
    except Exception as error:
        pass
    return locals().get("x")
"""
    replies = [{"x": 1}, {"x": 2}, end] if end else [{"x": 1}]
    with njrt.using(model=njrt.Scripted(replies, protocol="text")):
        assert load(text)["f"]() == (0 if first == "x = 0" else None)


def test_secrets_are_redacted() -> None:
    condition = 'assert x != api_key, f"not {api_key}"'
    program = block("Put a text into <:x: str>.", condition, "def f(api_key):")
    model = njrt.Scripted([{"x": "sk-1234567890abcdefghij"}, {"x": "fine"}], protocol="text")
    with njrt.using(model=model):
        assert load(HEAD + program)["f"]("sk-1234567890abcdefghij") == "fine"
    asked = show(model.requests[1])
    assert "x != api_key" in asked
    assert "sk-1234567890abcdefghij" not in asked


# ── no assert is evaluated that may have effects ─────────────────────────────────────────────────

EFFECTS: list[str] = []


class Recorder:
    """Its methods have effects, under names of harmless ones."""

    rows = property(lambda self: iter([1, 2]))

    def __init__(self) -> None:
        self.taken = iter([1, 2, 3])

    def count(self, *_: Any, **__: Any) -> int:
        EFFECTS.append("count")
        return 1

    get = index = keys = items = copy = isupper = upper = replace = pop = count

    def __call__(self, *_: Any, **__: Any) -> int:
        EFFECTS.append("call")
        return 1


class OwnList(list[int]):
    def count(self, *_: Any) -> int:
        EFFECTS.append("own count")
        return 1


def note(*_: Any, **__: Any) -> int:
    EFFECTS.append("note")
    return 1


@pytest.fixture(autouse=True)
def no_effects() -> Iterator[None]:
    EFFECTS.clear()
    yield
    EFFECTS.clear()


EXPRESSIONS = [
    *(f"x.{name}()" for name in ["count", "get", "index", "keys", "items", "copy", "isupper", "upper", "replace", "pop"]),
    *("x()", "note(x)", "not note(x)", "functions[0](x)", "(lambda: note())()", "[note(n) for n in numbers]"),
    *("list(map(note, numbers))", "sorted(numbers, key=note)", "max(numbers, key=x)", "all(map(x.count, numbers))"),
    *("next(taken)", "list(taken) == 1", "1 in taken"),
    "list(x.rows)",
    *("numbers.append(1)", "numbers.pop() == 1", "list.append(numbers, 1)", "numbers.sort()", "totals.update(a=1)"),
    *("totals.setdefault('b', 1)", "totals.pop('a') == 1", "own.count(1)", "print(x)", "open('x')", "exec('1')"),
    *("eval('note()')", "getattr(x, 'count')()", "setattr(x, 'y', 1)", "delattr(x, 'taken')", "type('C', (), {})"),
    *("str.join('', map(note, numbers))", "dict(map(note, numbers))", "isinstance(x, int) or note()", "x.taken"),
    *("filter(note, numbers) == 1", "next(iter(numbers))", "functions[0].__call__(1)", "note.__call__()"),
    *("input()", "__import__('os')", "vars(x).clear()", "globals()", "min(numbers, default=note())", "getattr(x, 'taken')"),
    *("max(*taken)", "max(*x.rows)", "print(*taken)"),
    *("sorted([1], key=numbers.append)", "max([1], key=own.count)"),
    *("totals.get('i')", "f'{note()}'", "sum(n for n in map(note, numbers))"),
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_what_may_have_effects_is_not_evaluated(text: str) -> None:
    x, numbers, functions, totals, own = Recorder(), [1, 2], [note], {"a": 1}, OwnList([1])
    taken, rows = iter([1, 2]), [iter([1])]
    totals["i"] = x.taken  # type: ignore[assignment]
    contract = Contract([text, f"({text}) and False"], [lambda: (x, numbers, functions, totals, own, taken, rows)])  # fmt: skip
    breach = contract.find_breach(lambda name, value: repr(value))
    assert EFFECTS == []
    assert breach is None or "must be true" in str(breach)
    assert (numbers, totals.keys(), list(taken), list(rows[0]), list(x.taken)) == (
        [1, 2],
        {"a": 1, "i": 1}.keys(),
        [1, 2],
        [1],
        [1, 2, 3],
    )


HOLDING: list[tuple[Any, str]] = [
    # iterators are true, and equal to themselves alone
    *(([], test) for test in ("map(str, x)", "filter(None, x)", "zip(x)", "enumerate(x)", "reversed(x)")),
    *(([1], test) for test in ("map(str, x) != ['1']", "map(str, x) != map(str, x)", "filter(None, x) and x")),
    *(([1], test) for test in ("list(map(str, x)) == ['1']", "len({zip(x), zip(x)}) == 2", "[*zip(x, x)] == [(1, 1)]")),
    ([], "bool(map(str, x)) and not [*map(str, x)]"),
    # what an assert changes is seen by the next one only in Python
    *(([2, 1], f"{call} is None and x\nassert x == [1, 2]") for call in ("x.sort()", "list.sort(x)")),
    ([2, 1], "list.pop(x) == 1\nassert x == [2]"),
    (1, "totals['a'] == 0 and x\nassert 'a' in totals and x"),
    (1, "[totals[part] for part in 'ab'] == [0, 0] and x\nassert len(totals) == 2 and x"),
    # short circuits, unbound names, own scopes
    (1, "x == 1 or unbound"),
    (1, "not (x == 2 and unbound)"),
    (1, "all(n == k for n in [x]) if outside else x"),
    (1, "(lambda: outside and k == x)() or x"),
    (1, "[x for x in [2]] == [2] and x == 1"),
    (1, "{n: x for n in [x]} == {1: 1} and any(n == x for n in range(3))"),
    ([1, 2, 3], "x[1:] == [2, 3] and x[-1] == 3 and x[::2] == [1, 3] and {(1, 2): x}[1, 2] is x"),
]  # fmt: skip
PLACES = {
    "function": "def f():\n    outside, k, totals = True, 1, defaultdict(int)\n{}\n    return 0\n\n\nf()\n",
    "method": "class C:\n  def f(self):\n    outside, k, totals = True, 1, defaultdict(int)\n{}\n\n\nC().f()\n",
    "coroutine": "async def f():\n    outside, k, totals = True, 1, defaultdict(int)\n{}\n\n\nasyncio.run(f())\n",
    "loop": "for outside, k, totals in [(True, 1, defaultdict(int))]:\n{}\n",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("value", "asserts"), HOLDING)
def test_a_reply_that_holds_is_accepted(place: str, value: Any, asserts: str) -> None:
    head = "import asyncio\nfrom collections import defaultdict\n\n"
    text = textwrap.indent(f'"""natural\nPut <:x>.\n"""\nassert {asserts}\n', "    ")
    plain = text.replace('"""natural\n    Put <:x>.\n    """', f"x = {value!r}")
    exec(head + PLACES[place].format(plain), {"__name__": "plain"})  # it holds
    model = njrt.Scripted([run(f"x = {value!r}", done=True)], protocol="text")
    with njrt.using(model=model):
        load(head + PLACES[place].format(text))
    assert len(model.requests) == 1


def test_a_block_in_a_class_body_has_no_contract() -> None:
    text = (
        'class Box:\n    """natural\n    Put a number into <:x: int>.\n    """\n    assert x > 3\n'
    )
    (contract,) = compile_source(SourceFile("p.njpy", text.encode())).contracts
    assert contract.texts == ()
    model = njrt.Scripted([{"x": 1}], protocol="text")
    with njrt.using(model=model), pytest.raises(AssertionError):
        load(text)
    assert make_contract(["x > 3"], lambda: (), None, {"x": 1}, "Box") is None  # a file of 0.2


def test_the_assert_of_the_program_decides_where_effects_are_possible() -> None:
    text = HEAD + "def ok(x):\n    return x > 3\n\n\n" + block("Put a number into <:x: int>.", "assert ok(x)")  # fmt: skip
    model = njrt.Scripted([{"x": 1}], protocol="text")
    with njrt.using(model=model), pytest.raises(AssertionError):
        load(text)["f"]()


ORDERED = {
    "a name that an assert binds": ("assert (n := x + 1) > 4\nassert n == x + 1", "return n"),
    "what an assert changes": ("assert left.pop() == x - 3\nassert not left and x", "return x + 1"),
    "items that are awaited": ("assert [n async for n in source] == [x]", "return x + 1"),
}


@pytest.mark.parametrize(("asserts", "tail"), ORDERED.values(), ids=ORDERED)
def test_asserts_that_need_what_python_does_before_them_are_left_to_python(
    asserts: str, tail: str
) -> None:
    class Source:
        async def __aiter__(self) -> AsyncIterator[int]:
            yield 4

    awaits = "async " in asserts
    head = f"{'async ' if awaits else ''}def f(left, source):"
    function = load(HEAD + block("Put a number into <:x: int>.", asserts, head, tail))["f"]
    with njrt.using(model=njrt.Scripted([{"x": 4}], protocol="text")):
        result = function([1], Source())
        assert (asyncio.run(result) if awaits else result) == 5


def test_two_tasks_have_contracts_of_their_own() -> None:
    space = load(HEAD + block("Put <n> into <:x: int>.", "assert x == n", "async def f(n: int):"))

    def answer(request: Request) -> Any:
        if "accepted only if" not in show(request):
            return {"x": 0}
        found = re.search(r"n(?:: int)? = (\d)", show(request))
        assert found is not None
        return {"x": int(found[1])}

    async def both() -> list[int]:
        return await asyncio.gather(space["f"](1), space["f"](2))

    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        assert asyncio.run(both()) == [1, 2]


def test_iterators_of_a_module_are_not_used_up() -> None:
    text = """\
rows = iter([1, 2])
\"\"\"natural
Put a number into <:x: int>, by <rows>.
\"\"\"
assert x > 3 and not [row for row in rows if row > x]
left = list(rows)
"""
    model = njrt.Scripted([run("x = 1", done=True), run("x = 4", done=True)], protocol="text")
    with njrt.using(model=model):
        assert load(text)["left"] == []  # the program's own assert has used them up
    assert len(model.requests) == 2
    names = {"rows": iter([1, 2])}
    read = eval("lambda: (rows,)", names)
    for text in ("max(*rows) == 1", "[*rows] == []", "1 in rows", "any(rows)", "[r for r in rows]"):
        assert Contract([text], [read]).find_breach(lambda *_: "") is None
    assert list(names["rows"]) == [1, 2]


@pytest.mark.parametrize(
    ("assertion", "shown"),
    [
        ("x % 2", "x = 4"),
        ("not x % 2 == 0", "x = 4"),
        ("(x + n) % 2", "x = 4, n = 2"),
        ("x > 5 if n else x == 0", "n = 2, x = 4"),
        ("[each for each in (x,) if each > 5]", "x = 4"),
    ],
)
def test_the_values_of_any_expression_are_shown(assertion: str, shown: str) -> None:
    model = njrt.Scripted([{"x": 4}, {"x": 4}, {"x": 4}, {"x": 4}], protocol="text")
    text = block("Put <n> into <:x: int>.", f"assert {assertion}", "def f(n: int):")
    with njrt.using(model=model), pytest.raises(AssertionError):
        load(HEAD + text)["f"](2)
    assert f"The last reply was refused: {shown}." in show(model.requests[2])


def test_a_long_message_is_cut() -> None:
    model = njrt.Scripted([{"x": 30_000}, {"x": 30_000}, {"x": 1}], protocol="text")
    body = 'assert x < 10, "too long: " + "y" * x'
    with njrt.using(model=model):
        load(HEAD + block("Put <n> into <:x: int>.", body, "def f(n: int):"))["f"](2)
    assert "characters left out" in show(model.requests[2])
    assert len(show(model.requests[2])) < 3_000


def test_code_that_has_run_is_not_to_be_written_anew() -> None:
    replies = [run("rows[-1] = 2", done=True)] * 3 + [run("rows.append(3)", done=True)]
    model = njrt.Scripted(replies, protocol="text")
    text = block("Append 3 to <rows>.", "assert rows[-1] == 3", "def f(rows: list[int]):")
    with njrt.using(model=model):
        load(HEAD + text.replace("return x", "return rows"))["f"]([1])
    messages = [show(request) for request in model.requests]
    assert "do not repeat what it did" in messages[2]
    assert not any("anew" in each or "simpler" in each for each in messages)
    assert "refused 3 times" in messages[3]
