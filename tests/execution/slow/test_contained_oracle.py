"""Random code on hostile objects: contained code does what guarded code does, or says that it cannot.

Each piece of code is generated from a seed and runs twice, on two equal scenes. The oracle is the guarded run: value, jump,
exception, printed text, and the scene afterwards.
"""

from __future__ import annotations

import random
import re
import warnings
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from contained_scene import make_functions, make_scene

from njrt.data.outcome import Raised
from njrt.execution.execute import Failed, Jumped, Ran, Snippet, execute, prepare
from njrt.execution.scope.bindings import Bound
from njrt.execution.scope.opening import make_scope

pytestmark = pytest.mark.usefixtures("contained")

CASES = 700
OUTPUTS = ["result", "other", "n", "s"]


OWN_WORDS = re.compile(r'"[^"]*\b(?:object|operand|instances|argument|concatenate)\b[^"]*"')
"""Python's own messages: they name the class of a proxy as it is there."""


def show(value: object) -> str:
    try:
        text = re.sub(r"0x[0-9a-f]+|<class '[\w.]*?(\w+)'>", r"\1", repr(value))
        return OWN_WORDS.sub("a message", text.replace("\\'", "'"))
    except Exception as error:
        return f"<{type(error).__name__}>"


def run(code: str, policy: Any) -> tuple[Any, ...]:
    """Run code on a new scene; return how it ended, and the scene afterwards."""
    scene = make_scene()
    names = scene | make_functions(scene)
    made: dict[str, Any] = {}
    variables = ", ".join(sorted(names))
    exec(
        f"def make({variables}):\n result = other = None\n return lambda: ({variables}, result, other)",
        made,
    )
    scope = make_scope(made["make"](**names), writes=" ".join(OUTPUTS), at="case.njpy:1")
    snippet = prepare(code, scope, labels=("return", "break"), policy=policy)
    if not isinstance(snippet, Snippet):
        return "refused", snippet.message
    done = execute(snippet, seconds=20)
    found = {name: scope.lookup(name) for name in OUTPUTS}
    after = {name: show(value) for name, value in scene.items()}
    after |= {name: show(held.value) for name, held in found.items() if isinstance(held, Bound)}
    match done:
        case Ran(value, printed):
            return "ran", show(value), printed, after
        case Failed(message, printed):
            is_own = policy == "contained" and "already done" not in message  # by the program
            changed = after if is_own else None
            return "failed", message.splitlines()[0], printed, changed
        case Jumped(Raised(error), printed):
            own = {name: value for name, value in vars(error).items() if name != "__notes__"}
            return "raised", show((type(error), error.args, own)), printed, after
        case Jumped(outcome, printed):
            return "jumped", show(outcome), printed, after
    raise AssertionError


NAMES = sorted(make_scene())
ATTRIBUTES = """
    x y v broken lost nothing log anything data n d shared a b rank name value first args
    exceptions message keys items hour real code detail filename errno
"""
CONSTANTS = (
    "0, 1, 2, -1, 'a', 'k', None, True, [], [1, 2], {}, {'a': 1}, (1, 2), 3.5, b'x', str, {1, 2}"
)
METHODS = (
    "append({}) count({}) index({}) copy() pop() get({}) keys() values() items() upper() split() first() make({}) twice({}) "
    "update({}) add({}) extend({}) insert(0, {}) sort() reverse() clear() setdefault({}) union({}) popleft() join({}) "
    "format({}) encode() isoformat() close() remove({}) discard({}) rotate({}) most_common(1) add_note({}) derive({})"
).replace("(0, ", "(0,")
RAISING = """
    need denied chain context stop note os own_members key own_stop import syntax many unicode
    bad_text open
"""
BUILTINS = """
    len str repr list tuple dict set sorted sum min max bool int float abs next round bytes
    callable any all
"""


class Writer:
    """Writes random code (state: the random numbers)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def expression(self, depth: int, *local: str) -> str:
        def part(*more: str) -> str:
            return self.expression(depth - 1, *local, *more)

        if depth <= 0 or self.random.random() < 0.15:
            return self.pick([*NAMES, *NAMES, *local, *local, *CONSTANTS.split(", ")])
        forms = [
            lambda: f"{part()}.{self.pick(ATTRIBUTES.split())}",
            lambda: f"{part()}[{self.pick(['0', '-1', '1:', repr('a'), repr('k'), part()])}]",
            lambda: (
                f"({part()} {self.pick(['+', '-', '*', '/', '//', '%', '@', '&', '|', '**', '<<'])} {part()})"
            ),
            lambda: f"({part()} {self.pick(['==', '!=', '<', 'in', 'is'])} {part()})",
            lambda: f"({part()} {self.pick(['and', 'or'])} {part()})",
            lambda: f"{self.pick(BUILTINS.split())}({part()})",
            lambda: f"{self.pick(BUILTINS.split())}({part()})",
            lambda: f"{part()}.{self.pick(METHODS.split())}".replace("{}", part()),
            lambda: f"{part()}.{self.pick(METHODS.split())}".replace("{}", part()),
            lambda: (
                f"isinstance({part()}, {self.pick(['list', 'int', 'Vector', 'Exception', 'type'])})"
            ),
            lambda: f"guard({part()}, {part()})",
            lambda: f"guard(fail, {self.pick(RAISING.split())!r})",
            lambda: f"[{part('w')} for w in {part()}]",
            lambda: f"sorted({part()}, key=lambda w: {part('w')})",
            lambda: f"{self.pick(['Slots', 'Vector', 'Frozen', 'Plain'])}({part()})",
            lambda: f"fill({self.pick(['{}', 'set()', '[]', part()])})",
            lambda: f"getattr({part()}, {self.pick(ATTRIBUTES.split())!r}, {part()})",
            lambda: f"[*{part()}, {part()}]",
            lambda: f"({part()}, {part()})",
            lambda: f"{{{part()}: {part()}}}",
        ]
        return str(self.pick(forms)())

    def statement(self, depth: int, margin: str = "") -> str:
        def value() -> str:
            return self.expression(self.random.randrange(1, 4), "result", "other")

        def inside() -> str:
            return self.statement(depth - 1, f"{margin}    ")

        target = self.pick(["result", "other", "n", "s", "local"])
        match self.random.randrange(14) if depth > 0 else 0:
            case 0 | 1 | 2 | 3:
                text = f"{target} = {value()}"
            case 4:
                text = (
                    f"{self.pick(NAMES)}.{self.pick(['x', 'v', 'n', 'd', 'a', 'rank'])} = {value()}"
                )
            case 5:
                text = (
                    f"{self.pick(NAMES)}[{self.pick(['0', '1:2', repr('k'), value()])}] = {value()}"
                )
            case 6:
                names = ["vector", "n", "nested", "result", "queue", "some"]
                text = f"{self.pick(names)} {self.pick(['+=', '-=', '*=', '|='])} {value()}"
            case 7 | 8:
                text = f"for q in {value()}:\n{inside()}\n{margin}    other = q"
            case 9 | 10 | 11:
                end = self.pick(["1 / 0", "raise error", f"fail({self.pick(RAISING.split())!r})"])
                kind = self.pick(["Exception", "Plain", "(KeyError, ValueError)", "OSError"])
                handled = [
                    *("result = str(x)", "result = x.args", "raise", "raise Sub(1) from x"),
                    *("raise KeyError(2)", "result = x", "nested.append(x.args)"),
                    *("x.add_note('k'); raise", "result = len(x), x == 3"),
                    "result = [getattr(x, a, 0) for a in ('filename', 'value', 'start', 'lineno', 'code')]",
                ]
                text = (
                    f"try:\n{inside()}\n{margin}    {end}\n{margin}except {kind} as x:\n"
                    f"{margin}    {self.pick(handled)}"
                )
            case 12:
                text = f"if {value()}:\n{inside()}\n{margin}else:\n{inside()}"
            case _:
                text = f"raise {self.pick(['Plain(1)', 'error', 'KeyError(n)'])}"
        return margin + text


SAYS_WHY = re.compile(
    r"ends with it|that the code made|cannot be handed|only an object of it|is refused in contained"
    r"|is no attribute of a|cannot be used in contained code|cannot (copy|make|be copied)|only read"
)
UNTOUCHED = run("1 / 0", "contained")[3]
"""The scene after code that has failed."""


@pytest.mark.filterwarnings("ignore")
def test_contained_code_does_what_guarded_code_does_on_hostile_objects() -> None:
    ended: Counter[str] = Counter()
    for seed in range(CASES):
        writer = Writer(seed)
        lines = [writer.statement(writer.random.randrange(3)) for _ in range(3)]
        code = "\n".join(lines[: writer.random.randrange(1, 4)])
        try:
            with warnings.catch_warnings(action="ignore"):
                compile(code, "case", "exec")
        except SyntaxError:
            continue
        guarded, contained = run(code, "guarded"), run(code, "contained")
        if contained[0] == "failed":
            assert contained[3] in (None, UNTOUCHED), f"seed {seed}\n{code}\n{contained}"
        if guarded[:3] == contained[:3] or SAYS_WHY.search(str(contained[1])):
            ended[contained[0]] += 1
            assert contained[0] == "failed" or guarded == contained, f"seed {seed}\n{code}"
            continue
        kinds = (guarded[0], contained[0])
        assert kinds == ("failed", "failed"), f"seed {seed}\n{code}\n{guarded}\n{contained}"
    assert min(ended[kind] for kind in ("ran", "failed", "raised")) > CASES / 30, ended


READ = "[getattr(x, name, 0) for name in ('filename', 'errno', 'name', 'path', 'lineno', 'value', 'start', 'pos', 'why')]"


OWN = "bool(x), x == 3, f'{x:>9}', guard(fail, x)"


@pytest.mark.parametrize("kind", [*RAISING.split(), "json"])
def test_exceptions_cross_with_what_python_keeps_of_them(kind: str) -> None:
    caught = f"try:\n    fail({kind!r})\nexcept Exception as x:\n    "
    codes = [f"fail({kind!r})", f"{caught}raise Sub(1) from x", f"{caught}result = {OWN}"]
    if kind not in ("import", "json"):  # what Python's own classes keep besides their arguments
        codes.append(f"{caught}result = x.args, {READ}, type(x).__name__")
    for code in codes:
        contained, guarded = run(code, "contained"), run(code, "guarded")
        if contained[0] == "failed":
            assert contained[3] in (None, UNTOUCHED)
            contained, guarded = contained[:3], guarded[:3]
        assert contained == guarded, code


@pytest.mark.parametrize(
    "code",
    [
        "result = {}\nn = fill(result), len(result)\nother = list(result)[4]",
        "result = set()\nn = fill(result), len(result)\nfill(result)",
        "result = {frozen: 1}\nfill(result)\nfill(result)\nother = result[frozen]",
        "raise FileNotFoundError(2, 'no', 'f.txt')",
        "try:\n    fail('denied')\nexcept OSError as x:\n    result = str(x), repr(x)",
        "raise ImportError('no', name='thing')",
        "try:\n    fail('os')\nexcept OSError as x:\n    x.add_note('n')\n    raise",
        "try:\n    fail('open')\nexcept Exception as x:\n    for note in 'ab':\n        x.add_note(note)\n    raise Sub(2) from x",
    ],
)
def test_what_crosses_is_the_same(code: str) -> None:
    assert run(code, "contained") == run(code, "guarded")


@pytest.mark.parametrize(
    "value", ["len", "lambda: 1", "(w for w in vector)", "[len]", "{1: [print]}"]
)
@pytest.mark.parametrize("end", ["raise KeyError(1)", "raise", "return 1", "break"])
def test_no_end_of_the_code_loses_a_value_silently(value: str, end: str) -> None:
    code = f"other = {value}\n{end}"
    if end == "raise":
        code = f"try:\n    raise error\nexcept Exception:\n    other = {value}\n    raise"
    kind, message, *_ = run(code, "contained")
    assert (kind, "of contained code ends with it" in message) == ("failed", True)


def test_containers_are_equal_on_both_sides_after_a_value_that_cannot_cross() -> None:
    code = (
        "class A: pass\nfirst, result = [], []\nn = fill(first), fill(result)\nfirst.append([4])\nresult.append(A())\n"
        "try:\n    guard(len, [1])\nexcept TypeError as x:\n    other = str(x)\n"
        "result.pop()\nresult.append(5)\nfill(first)\nresult.append(first)"
    )
    kind, _, _, after = run(code, "contained")
    plain = run(code.replace("A()", "6"), "guarded")[3]
    assert (kind, after["result"]) == ("ran", plain["result"])
    assert after["other"] != "None"


class Kept:
    def __init__(self, number: int) -> None:
        self.number = number


def run_on(code: str, policy: Any) -> tuple[Any, Any]:
    """Run code on objects that nothing refers to but a list; return how it ended, and the result."""
    kept = [Kept(number) for number in range(50)]
    big = Fraction(10**5000, 3)

    def first(values: Any) -> Any:
        return next(iter(values))

    result: Any = None
    scope = make_scope(lambda: (kept, big, first, Kept, result), writes="result", at="case.njpy:1")  # fmt: skip
    snippet = prepare(code, scope, labels=(), policy=policy)
    assert isinstance(snippet, Snippet), snippet
    return execute(snippet, seconds=20), result


@pytest.mark.parametrize(
    "code",
    [
        "result = len({id(each) for each in kept}), [id(each) for each in kept] == [id(each) for each in kept]",
        "seen = set()\nresult = []\nfor each in kept:\n    if id(each) not in seen:\n        seen.add(id(each))\n        result.append(each.number)",
        "result = big + 1, big * 3 == 10**5000",
        "from fractions import Fraction\nresult = Fraction(7, 10**5000), Fraction(-1, 3), Fraction(4)",
    ],
)
def test_ordinary_code_that_once_differed(code: str) -> None:
    assert run_on(code, "contained") == run_on(code, "guarded")


def test_the_message_of_a_deep_recursion_is_short() -> None:
    code = "def f(number):\n    return f(number + 1)\nf(0)"
    ends = [run_on(code, policy)[0] for policy in ("contained", "guarded")]
    shown = {re.sub(r"\d{3} more", "more", end.message) for end in ends if isinstance(end, Failed)}
    assert len(shown) == 1
    assert len(shown.pop()) < 500


def test_a_value_that_is_too_large_says_so() -> None:
    done, _ = run_on("result = 'y' * 70_000_000", "contained")
    assert isinstance(done, Failed)
    assert "70 MB are too much; at most 16 MB can cross at a time" in done.message
    assert "File" not in done.message
