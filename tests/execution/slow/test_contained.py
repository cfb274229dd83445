"""Contained code does what guarded code does, on the program's own objects, or says why not.

Each piece of code runs twice, on two equal scenes: guarded in this process, and contained in another. Value, jump, exception,
printed text and the whole scene afterwards must be equal.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import gc
import os
import re
import signal
import subprocess
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import pydantic
import pytest

import njrt
from njrt.data.outcome import Raised
from njrt.errors import CodeTimeLimitError
from njrt.execution.contained import process
from njrt.execution.contained.process import _server
from njrt.execution.execute import Failed, Jumped, Ran, Snippet, aexecute, execute, prepare
from njrt.execution.scope.opening import make_scope
from processes import run_python

pytestmark = pytest.mark.usefixtures("contained")


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Mail:
    text: str
    tags: list[str] = dataclasses.field(default_factory=list)
    color: Color = Color.RED
    level: Level = Level.LOW
    sent: datetime.date = datetime.date(2026, 1, 2)

    @property
    def words(self) -> list[str]:
        return self.text.split()

    def tag(self, *names: str, front: bool = False) -> Mail:
        self.tags[0 if front else len(self.tags) :][:0] = names
        for name in names:
            self.tags.insert(0 if front else len(self.tags), name)
        return self


class Urgent(Mail):
    """A subclass."""


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents

    def __add__(self, other: object) -> Money:
        return Money(self.cents + (other.cents if isinstance(other, Money) else int(str(other))))

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Money) and self.cents == other.cents

    def __lt__(self, other: Money) -> bool:
        return self.cents < other.cents

    def __hash__(self) -> int:
        return hash(self.cents)

    def __bool__(self) -> bool:
        return self.cents != 0

    def __repr__(self) -> str:
        return f"Money({self.cents})"

    def __getitem__(self, digit: int) -> str:
        return str(self.cents)[digit]

    def __call__(self, factor: int = 2) -> int:
        return self.cents * factor

    def __format__(self, spec: str) -> str:
        return f"{self.cents / 100:{spec or '.2f'}}"


class OutOfStock(Exception):
    def __init__(self, name: str, left: int = 0) -> None:
        super().__init__(f"{name} is out of stock")
        self.name, self.left = name, left


class Gone(OutOfStock):
    """A subclass of an exception."""


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> Log:
        self.lines.append("enter")
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> bool:
        self.lines.append(f"exit {kind.__name__ if kind else None} {error}")
        return isinstance(error, KeyError)

    def each(self, function: Any) -> list[Any]:
        return [function(line) for line in self.lines]

    def count_up(self, most: int) -> Any:
        for number in range(most):
            self.lines.append(f"at {number}")
            yield number


def run(code: str, policy: Any) -> tuple[Any, ...]:
    """Run code on a new scene; return how it ended, and the scene afterwards."""
    first = Mail("win money now")
    mails = [first, Urgent("call me back", ["friend"], Color.BLUE, Level.HIGH)]
    box = {"a": 1, "b": [2]}
    numbers = [3, 1, 2]
    pairs = {"x": 1, "y": 2}
    price = Money(250)
    counter = collections.Counter("abca")
    queue = collections.deque([1, 2, 3], maxlen=4)
    amount = decimal.Decimal("1.50")
    point = collections.namedtuple("Point", "x y")(1, 2)
    log = Log()
    seen = set("ab")
    total, text = 5, "four"
    kept: Any = FileNotFoundError(2, "no file", "a.txt")
    kept.code = [1]
    result: Any = None

    def fail(name: str) -> None:
        raise OutOfStock(name, 3)

    def read_total() -> int:
        return int(total)

    def read_texts() -> list[str]:
        return [*(mail.text for mail in mails), *map(repr, numbers)]

    def add_to_total(count: int) -> None:
        """A function."""
        nonlocal total
        total += count

    variables = lambda: (  # noqa: E731
        mails, first, box, numbers, pairs, price, counter, queue, amount, point, log, seen, total, text, result, kept,
        fail, read_total, read_texts, add_to_total, Mail, Urgent, Money, OutOfStock, Gone, Color, Level,
    )  # fmt: skip
    scope = make_scope(variables, writes="result total", at="case.njpy:1")
    snippet = prepare(code, scope, labels=("return", "break"), policy=policy)
    if not isinstance(snippet, Snippet):
        return "refused", snippet.message
    done = execute(snippet, seconds=20)
    after = repr(
        [
            *(mails, box, numbers, pairs, counter, queue, log.lines, sorted(seen)),
            *(total, result, kept, vars(kept)),
        ]
    )
    match done:
        case Ran(value, printed):
            return "ran", repr(value), printed, after
        case Failed(message, printed):
            return "failed", message.splitlines()[:2], printed, after
        case Jumped(Raised(error), printed):
            chain = type(error), error.args, type(error.__cause__), vars(error)
            return "raised", repr(chain), printed, after
        case Jumped(outcome, printed):
            return "jumped", repr(outcome), printed, after
    raise AssertionError


SAME = r"""
mails[0].text
[m.text for m in mails]
mails[0] is first
first in mails
first is mails[1]
mails.index(first)
len(mails), len(box), len(numbers)
numbers.sort()\nnumbers
numbers.sort(key=lambda n: -n)\nnumbers
sorted(numbers, reverse=True)
sorted(mails, key=lambda m: m.text)[0].text
max(mails, key=lambda m: len(m.words)).text
min(numbers), max(numbers), sum(numbers)
numbers.append(9)\nnumbers[-1]
numbers += [7]\ntotal = len(numbers)
numbers[0] = 8\nnumbers[1:] = [0]\nnumbers
del numbers[0]\nnumbers
numbers + [1], [1] + numbers, numbers * 2
numbers == [3, 1, 2], numbers != [3], [3, 1, 2] == numbers
list(reversed(numbers))
[*numbers, *range(2)]
a, *b = numbers\nresult = (a, b)
first.text = "new"\nfirst.tags.append("x")
first.tag("a", "b").tag("c", front=True)\nfirst.tags
first.tags = ["mine"]\nfirst.tags.append("too")
mine = ["m"]\nfirst.tags = mine\nmine.append("n")\nresult = first.tags is mine
mine = [1]\nnumbers.append(mine)\nnumbers[-1].append(2)\nresult = mine
mine = {"a": [1]}\nbox["mine"] = mine\nmine["a"].append(2)\nbox["mine"]["b"] = 3\nresult = mine
x = []\nx.append(x)\nresult = len(x)
result = {m.text: m for m in mails}
result = [first, [first]]\nresult[1][0] is first
result = {"a": {"b": (1, [2, {3}])}}
result = Mail("made", color=Color.BLUE)\nmails.append(result)
result = [Mail(t) for t in ("a", "b")]
isinstance(first, Mail), isinstance(mails[1], Mail), isinstance(first, Urgent), isinstance(5, Mail)
isinstance(mails, list), isinstance(box, dict), isinstance(counter, dict), isinstance(first, (int, Mail))
type(first) is Mail, type(mails[1]) is Urgent, type(mails) is list, type(mails[1]).__name__
first.__class__ is Mail, box.__class__.__name__, mails.__class__ is list
issubclass(Urgent, Mail), issubclass(Mail, Urgent), issubclass(Gone, Exception)
hasattr(first, "text"), hasattr(first, "nothing"), getattr(first, "nothing", 7)
setattr(first, "text", "s")\nfirst.text
callable(first.tag), callable(first), callable(price), callable(Mail)
first.color is Color.RED, first.color == Color.BLUE, first.color.value, Color.BLUE.name, first.color
[c.value for c in Color], Color("b") is Color.BLUE, Color["RED"], len(Color)
first.level < Level.HIGH, first.level + 1, int(first.level), f"{first.level:03d}"
first.sent.isoformat(), (first.sent - datetime_date).days if False else first.sent.year
first.sent.replace(year=2000) < first.sent
amount + 1, amount.quantize(amount), str(amount)
price + 5, 5 + price, sum([price, price], start=price)
price == Money(250), price != Money(1), price < Money(300), sorted([price, Money(3)])
bool(price), bool(Money(0)), not price, price and 1
hash(price) == hash(Money(250)), {price: 1}[Money(250)], price in {Money(250)}
price[0], price[-1], price(), price(3), price(factor=4)
f"{price}", f"{price:.0f}", format(price), str(price), repr(price)
[d for d in price][:2]
box["a"], box.get("z", 3), "a" in box, list(box), list(box.items()), {**box}
box["c"] = 3\nbox.update(d=4)\nbox.pop("a")\nsorted(box)
for key in list(pairs):\n    pairs[key] += 1
for key, value in pairs.items():\n    total += value
[k for k in pairs if pairs[k] > 1]
pairs | {"z": 3}, {"z": 3} | pairs, dict(pairs)
counter.most_common(1), counter["a"], counter["nothing"]
counter["a"] += 1\ncounter.update("zz")\ncounter
queue.append(9)\nqueue.appendleft(0)\nlist(queue)
point.x, point[1], tuple(point), point == (1, 2), point._asdict(), point._replace(x=5)
x, y = point\nresult = x + y
seen.add("z")\nseen | {"q"} if False else sorted(seen | {"q"})
sorted(seen & {"a"}), "a" in seen, seen >= {"a"}, sorted({"a"} | seen)
try:\n    fail("tea")\nexcept OutOfStock as error:\n    result = (error.name, error.left, str(error), type(error) is OutOfStock)
try:\n    fail("tea")\nexcept (KeyError, Exception) as error:\n    result = repr(error)
try:\n    raise Gone("x", 2)\nexcept OutOfStock as error:\n    result = error.left
try:\n    numbers[99]\nexcept IndexError as error:\n    result = str(error)
try:\n    pairs["nothing"]\nexcept KeyError as error:\n    result = error.args
try:\n    pairs["nothing"]\nexcept KeyError as error:\n    error.code = first\n    error.code.text = error.code.text.upper()\n    result = (error.code is first, error.code.text)
try:\n    mails[1].text.index("z")\nexcept ValueError as error:\n    error.code = 1\n    del error.code\n    raise
try:\n    first.nothing\nexcept AttributeError as error:\n    result = error.name
try:\n    fail("a")\nfinally:\n    numbers.append(0)
raise OutOfStock("tea")
raise Gone("tea", 4)
raise ValueError("bad", 3)
raise KeyError("k")
try:\n    fail("x")\nexcept OutOfStock:\n    raise
fail("coffee")
numbers[99]
1 / 0
first.nothing
mails.nothing
nothing = first + 1
len(first)
first()
numbers["a"]
"a" + total
undefined
return first
return [m.text for m in mails]
return
break
result = read_total()
total = 9\nresult = read_total()
add_to_total(4)\nresult = total
add_to_total(4)\ntotal += 1\nresult = read_total()
del total\ntotal = 1
for n in log.count_up(3):\n    total += n
it = log.count_up(5)\nresult = (next(it), next(it), list(it))
result = next(iter([]), 4), next(log.count_up(0), 5)
log.lines.append("a")\nlog.each(str.upper)
log.lines.append("a")\nlog.each(lambda line: line + str(total))
log.lines += "ab"\nfor n in numbers:\n    try:\n        log.each(lambda line: 6 // (n - 1))\n    except ZeroDivisionError as error:\n        total = str(error)
log.lines.append("a")\nlog.each(lambda line: mails.append(Mail(line)))\nlen(mails)
log.lines.append("a")\nlog.each(lambda line: 1 / 0)
log.lines.append("a")\nlog.each(lambda line: fail(line))
try:\n    numbers.sort(key=lambda n: 1 / (n - 1))\nexcept ZeroDivisionError:\n    total = 0
numbers.extend(n * 2 for n in (1, 2))
numbers.extend(map(lambda n: n + total, [1, 2]))
list(map(lambda m: m.text, mails)), list(filter(None, numbers)), list(zip(numbers, mails))[0][0]
any(m.tags for m in mails), all(m.text for m in mails)
", ".join(m.text for m in mails)
"%s and %d" % (first.text, total), "{} {}".format(first.text, numbers)
[i for i, m in enumerate(mails) if m is first]
match first:\n    case Urgent():\n        result = "urgent"\n    case Mail(text=t):\n        result = t
match first:\n    case Mail(t, tags):\n        result = (t, tags)
match numbers:\n    case [a, *rest]:\n        result = (a, rest)
match pairs:\n    case {"x": x, **rest}:\n        result = (x, rest)
match first.color:\n    case Color.RED:\n        result = "red"
match total:\n    case int(n) if n > 3:\n        result = n
def double(n):\n    return n * total\nresult = [double(n) for n in numbers]
class Local:\n    def __init__(self, mail):\n        self.mail = mail\n    def size(self):\n        return len(self.mail.text)\nresult = Local(first).size()
class A:\n    def go(self): return 1\nclass B(A):\n    def go(self): return super().go() + 1\nresult = B().go()
import re\nresult = re.findall("[a-z]+", first.text)
import json\nresult = json.dumps({"n": numbers[0], "t": first.text})
import json\nresult = json.dumps({"n": numbers, "p": [pairs, (first.level,)]}, default=str)
import json\nresult = json.dumps(pairs, indent=1, default=lambda it: "other"), json.dumps(total)
result = "\\ud83d" + chr(0xDE00), "\\ud83d" + "é"
import pprint\nresult = pprint.pformat(pairs), pprint.pformat([numbers, point, box, {"b": price, "a": (1, pairs)}], width=20)
result = super(Urgent, mails[1]).words
class A:\n    def go(self): return 1\nclass B(A):\n    def go(self): return super(B, self).go() + super().go()\nresult = B().go()
import collections\nresult = collections.Counter(m.color.value for m in mails)["r"]
from itertools import groupby\nresult = [k for k, g in groupby([1, 1, 2])]
import dataclasses, datetime, math\nresult = math.sqrt(16), datetime.date(2026, 1, 3) - first.sent
import copy\nother = copy.copy(first)\nother.text = "copied"\nresult = other is first, first.text
import copy\nother = copy.deepcopy(first)\nother.tags.append("q")\nresult = first.tags
import functools\nresult = functools.reduce(lambda a, b: a + b, numbers)
print("found", len(mails), sep="-")\nprint(first.text, end="!")
print(numbers, price)
x = 1\ny = x + 1\ny
if total > 3:\n    result = "big"\nelse:\n    result = "small"
while True:\n    total -= 1\n    if total < 2:\n        break
for m in mails:\n    if m is first:\n        continue\n    result = m.text
result = [] or numbers
sorted(locals())[:3]
"total" in dir()
result = (lambda: total)()
global_total = total\nresult = global_total
first.text = "a"\nresult = [read_texts(), read_texts()]
setattr(first, "text", "a")\nresult = read_texts()
vars(first)["text"] = "a"\nresult = read_texts()
first.__dict__.update(text="a")\nresult = read_texts()
getattr(first, "__dict__")["text"] = "a"\nresult = read_texts()
object.__setattr__(first, "text", "a")\nresult = read_texts()
getattr(first, "__di" + "ct__")["text"] = "a"\nread_texts()
held = vars(first)\nread_texts()\nheld["text"] = "a"\nresult = read_texts()
for m in mails:\n    m.text += "!"\n    m.tag("a")\n    result = read_texts()
made = Mail("made")\nmails.append(made)\nread_texts()\nmade.text = "a"\nresult = read_texts()
numbers.append(1)\nresult = read_texts()\nfirst.text = "b"\nnumbers[0] = 1\ntext = read_texts()
del first.color\nread_texts()\nfirst.color = Color.BLUE\nresult = read_texts()
total: int = 3
10 ** 400
result = 2 ** 5000
result = float("inf"), -0.0, 1e300 * 10
result = "\\ud800", "\\x00", "é😀"
result = b"\\x00\\xff", ..., None, True, 3j, range(3)
result = frozenset({1}), (), ((1,),)
result = tuple(range(300))
text = text\nresult = text
""".strip().splitlines()
"""Pieces of code, one a line; `\\n` separates their lines."""


@pytest.mark.parametrize("code", SAME)
def test_contained_code_does_what_guarded_code_does(code: str) -> None:
    code = code.replace(r"\n", "\n")
    contained, guarded = run(code, "contained"), run(code, "guarded")
    if contained[0] == "failed":  # nothing has changed, unlike in guarded code
        assert contained[3] == run("pass", "contained")[3]
        contained, guarded = contained[:3], guarded[:3]
    assert contained == guarded


def evaluate(code: str, values: Any) -> Any:
    """Return the `result` of contained code on some values."""
    result: Any = None
    scope = make_scope(lambda: (values, result), writes="result", at="case.njpy:1")
    snippet = prepare(code, scope, policy="contained")
    assert isinstance(snippet, Snippet), snippet
    done = execute(snippet, seconds=20)
    assert isinstance(done, Ran), done
    return result


def test_an_output_outlives_a_call_that_was_refused() -> None:
    code = (
        "result = [1]\ntry:\n    values[0].sort(key=lambda it: values[1](it))\n"
        "except TypeError:\n    pass\nvalues[1](3)"
    )
    assert evaluate(code, [[2, 1], abs]) == [1]


def test_what_pythons_library_prints_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate("import pprint\npprint.pprint(values)\nprint(1)", {"b": 1, "a": [2]})
    assert capsys.readouterr().out == "{'a': [2], 'b': 1}\n1\n"


def test_code_has_the_time_zone_and_the_decimal_context_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "import datetime\nresult = datetime.datetime.fromtimestamp(0).hour, str(1 / values)"
    with monkeypatch.context() as changed, decimal.localcontext(prec=4):
        for zone, hour in (("America/New_York", 19), ("XYZ-3", 3)):
            changed.setenv("TZ", zone)
            _server.stop()  # the next one has the zone
            assert evaluate(code, decimal.Decimal(3)) == (hour, "0.3333")
        with decimal.localcontext() as context:
            context.traps[decimal.Inexact] = True
            with pytest.raises(AssertionError, match="Inexact"):
                evaluate(code, decimal.Decimal(3))
    _server.stop()


T = TypeVar("T")


class Mixin:
    place: str

    def where(self) -> str:
        return f"at {self.place}"


class Placed(Mixin, Generic[T], LookupError):
    """An exception with bases that are none."""


def test_exceptions_with_other_bases_cross() -> None:
    def fail() -> None:
        error = Placed[int]("gone")
        error.place = "shop"
        raise error

    code = (
        "try:\n    values[0]()\nexcept values[1] as error:\n"
        "    result = error.where(), str(error), isinstance(error, values[2]), isinstance(error, LookupError)"
    )
    assert evaluate(code, [fail, Placed, Mixin]) == ("at shop", "gone", True, True)


DIFFERENT = {
    "add_to_total(lambda: 1)": "a function of contained code ends with it, and cannot be kept or called",
    "import copy\nmails.append(copy.copy(price))": "contained code cannot make or copy a Money itself",
    "result = lambda: 1": "`result`: a function of contained code ends with it",
    "result = (n for n in numbers)": "`result`: a generator of contained code ends with it",
    "return lambda: 1": "a function of contained code ends with it, and cannot be kept",
    "first.text = lambda: 1": "ends with it, and cannot be kept",
    "numbers.append(lambda: 1)": "ends with it, and cannot be kept",
    "result = [lambda: 1]": "ends with it, and cannot be kept",
    "class Mine: pass\nresult = Mine()": "an object of the class Mine that the code made cannot be handed",
    "class Mine(Exception): pass\nraise Mine()": "an object of the class Mine that the code made",
    "class Mine(Mail): pass\nresult = Mine('a')": "an object of the class Mine that the code made",
    "class Mine(Money): pass\nMine(1)": "cannot derive Mine from Money",
    "first._private": "no attribute '_private'",
    "first.tag.__wrapped__": "`__wrapped__` is refused",
    "type(log)()": "the prompt does not name the class Log, only an object of it",
    "numbers.sort(key=lambda n: read_total())": "while a list is being sorted",
    "mails.sort(key=lambda m: fail(m.text))": "while a list is being sorted",
    "first.text = 3": "`Mail.text: str`: expected str, got int",
    "first.other = 3": "`other` is no attribute of a Mail",
    "Mail.text = 'all'": "the class Mail cannot be changed",
    "result = copied = tuple\nfor n in range(200): total = (total,)": "nested more than 100 deep",
    "numbers.append('x' * 20_000_000)": "at most 16 MB",
}
"""Pieces of code that cannot be contained, with the reason that the model is told."""


@pytest.mark.parametrize("code", DIFFERENT)
def test_what_cannot_be_contained_says_why(code: str) -> None:
    ended, message, *_ = run(code, "contained")
    assert ended in ("failed", "refused")
    assert DIFFERENT[code] in str(message)


# ── stopping ─────────────────────────────────────────────────────────────────────────────────────


def contain(code: str, variables: Any = lambda: (), seconds: float = 5.0, **more: Any) -> Any:
    """Run code in a child without the checks of the guard before it."""
    scope = make_scope(variables, at="case.njpy:1", **more)
    snippet = prepare(code, scope, policy="open")
    assert isinstance(snippet, Snippet), snippet
    return execute(dataclasses.replace(snippet, is_contained=True), seconds=seconds)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "10 ** 10 ** 8",
        "import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
        "import time\ntime.sleep(60)",
        "class Endless:\n    def __del__(self):\n        Endless()\nEndless()\nwhile True: pass",
    ],
)
def test_code_that_does_not_end_is_stopped(code: str) -> None:
    with pytest.raises(CodeTimeLimitError):
        contain(code, seconds=0.5)


def test_code_is_stopped_in_a_thread_too() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(CodeTimeLimitError):
        pool.submit(contain, "10 ** 10 ** 8", seconds=0.5).result(20)


def test_code_that_is_stopped_has_changed_nothing() -> None:
    seen: list[int] = [0]
    with pytest.raises(CodeTimeLimitError):
        contain("seen.append(1)\nlook()\nwhile True: pass", lambda: (seen, look), seconds=0.5)
    assert seen == [0]


def look() -> None:
    """A call, before which the changes so far are applied."""


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes\nctypes.string_at(0)",
        "import os\nos._exit(3)",
        "x = [bytearray(10 ** 8) for _ in range(100)]",
        "import os, signal\nos.abort()",
    ],
)
def test_code_that_crashes_is_a_mistake(code: str) -> None:
    done = contain(code, seconds=20)
    assert isinstance(done, Failed)
    assert "the process of the code ended" in done.message or "MemoryError" in done.message
    assert contain("1 + 1") == Ran(2, "")


# ── the boundary ─────────────────────────────────────────────────────────────────────────────────

REACHING = [
    "open('/etc/passwd').read()",
    "open('TARGET', 'w').write('x')",
    "import os\nassert os.system('touch TARGET') == 0",
    "import os\nos.fork()",
    "import os\nos.listdir('/')",
    "import os\nos.kill(os.getppid(), 9)",
    "import os\nos.open('/proc/self/mem', os.O_RDWR)",
    "import os\nos.memfd_create('x')",
    "import os\nos.pipe()",
    "import os\nos.dup(3)",
    "import os\nos.setuid(0)",
    "import os\nos.chroot('/')",
    "import socket\nsocket.socket()",
    "import socket\nsocket.socketpair()",
    "import subprocess\nsubprocess.run(['true'])",
    "import ctypes\nassert ctypes.CDLL(None).system(b'touch TARGET') == 0",
    "import ctypes\nassert ctypes.CDLL(None).execve(b'/bin/true', None, None) == 0",
    "import ctypes\nassert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0",
    "import ctypes\nassert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "import ctypes\nassert ctypes.CDLL(None).prctl(22, 0, 0, 0, 0) == 0",
    "import threading\nthreading.Thread(target=print).start()",
    "import signal\nsignal.alarm(1)\nsignal.setitimer(signal.ITIMER_REAL, 1)",
    "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
]
"""Ways out of a process; the code may import all that the server has loaded, as no guard looks at it before."""


@pytest.mark.parametrize("code", REACHING)
def test_no_way_leads_out_of_the_process(code: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    done = contain(code.replace("TARGET", str(target)), seconds=10)
    assert isinstance(done, Failed), done
    assert re.match(
        "PermissionError|OSError|AssertionError|.*Errno 1. Operation not permitted|RuntimeError: can't start|ModuleNotFoundError|ImportError|ValueError|the process of",
        done.message,
    ), done.message
    assert not target.exists()


def test_the_child_has_nothing_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NJRT_TEST_SECRET", "k3ep-th1s")
    done = contain("import os, sys\n(dict(os.environ), sys.argv, sys.path, sorted(sys.modules))")
    assert isinstance(done, Ran)
    environ, _, path, modules = done.value
    assert environ.keys() <= {"LC_CTYPE", "TZ"}
    assert path == []
    assert not {"pydantic", "openai", "test_contained", "pytest"} & set(modules)


# ── kills ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("touches", [0, 1, 2, 5, 9])
def test_a_child_that_is_killed_changes_nothing_but_what_functions_did(touches: int) -> None:
    done: list[int] = []
    seen: list[int] = []

    def work(number: int) -> None:
        done.append(number)
        if number == touches:
            kill_children()

    result = contain("for n in range(10):\n    seen.append(n)\n    work(n)", lambda: (work, seen))
    assert isinstance(result, Failed)
    assert "the process of the code ended" in result.message
    assert done == list(range(touches + 1))
    assert seen == []
    assert f"already done: {', '.join(f'work({n})' for n in done)}" in result.message


def test_calls_that_raised_are_told_apart() -> None:
    def pay(number: int) -> None: ...

    def check(number: int) -> None:
        raise LookupError(number)

    both = functools.partial(check, 2)
    code = "import contextlib\nfor call in (pay, check):\n    with contextlib.suppress(Exception):\n        call(1)\nboth()"
    result = contain(code, lambda: (pay, check, both))
    assert isinstance(result, Failed)
    called = "pay(1), check(1) raised LookupError, partial() raised LookupError"
    assert result.message.endswith(f"already done: {called}")


def kill_children() -> None:
    """Kill all children of the server, but not the server."""
    server = process._server._process
    assert server is not None
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines()[1:]:
        pid, parent = map(int, line.split())
        if parent == server.pid:
            os.kill(pid, signal.SIGKILL)


def test_a_server_that_is_killed_is_started_again() -> None:
    assert contain("1 + 1") == Ran(2, "")
    server = process._server._process
    assert server is not None
    server.kill()
    server.wait()
    assert contain("2 + 2") == Ran(4, "")


def test_a_fork_of_the_program_has_its_own_server() -> None:
    assert contain("1 + 1") == Ran(2, "")
    if (pid := os.fork()) == 0:
        os._exit(0 if contain("2 + 2") == Ran(4, "") else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert contain("3 + 3") == Ran(6, "")


# ── threads, tasks, many touches ─────────────────────────────────────────────────────────────────


def test_64_blocks_at_once_see_their_own_objects() -> None:
    all_there = threading.Barrier(64)

    def work(number: int) -> Any:
        items = [number] * 3
        all_there.wait(60)
        return contain("items.append(len(items))\nsum(items)", lambda: (items,), seconds=60)

    with ThreadPoolExecutor(64) as pool:
        results = pool.map(work, range(64), timeout=60)
        assert [*results] == [Ran(number * 3 + 3, "") for number in range(64)]


def test_async_code_awaits_the_programs_functions() -> None:
    log: list[str] = []

    async def fetch(name: str) -> str:
        log.append(f"ask {name}")
        await asyncio.sleep(0.01)
        log.append(f"have {name}")
        return name.upper()

    lock = asyncio.Lock()  # a handle: only the program's functions can use it

    async def hold() -> bool:
        async with lock:
            return lock.locked()

    code = (
        "import asyncio\n"
        "async def ask(name):\n    await asyncio.sleep(0.001)\n    return await fetch(name)\n"
        "result = [await fetch('a'), *await asyncio.gather(ask('b'), fetch('c'))]\n"
        "result.append(await hold())"
    )

    async def block() -> Any:
        result: Any = None
        scope = make_scope(lambda: (fetch, hold, result), writes="result", at="case.njpy:1")
        snippet = prepare(code, scope, is_async=True, policy="contained")
        assert isinstance(snippet, Snippet), snippet
        done = await aexecute(snippet, seconds=10)
        assert done == Ran(None, ""), done
        return result

    async def main() -> list[Any]:
        return await asyncio.gather(*(block() for _ in range(5)))

    assert asyncio.run(main()) == [["A", "B", "C", True]] * 5
    log.clear()
    assert asyncio.run(block()) == ["A", "B", "C", True]
    assert log == [f"{step} {name}" for name in "acb" for step in ("ask", "have")]  # one by one


def test_objects_are_let_go_at_the_end() -> None:
    alive: weakref.WeakSet[Money] = weakref.WeakSet()

    def make(number: int) -> Money:
        made = Money(number)
        alive.add(made)
        return made

    code = "for n in range(2000):\n    make(n).cents"
    assert contain(code, lambda: (make,), seconds=60) == Ran(None, "")
    gc.collect()
    assert len(alive) == 0


def test_properties_that_compute_are_read_in_the_child() -> None:
    class Item:
        reads = 0

        @property
        def text(self) -> str:
            Item.reads += 1
            return "x"

    items = [Item() for _ in range(1000)]
    done = contain("items[5].text + items[-1].text", lambda: (items,))
    assert done == Ran("xx", "")
    assert Item.reads == 2  # it names a class of its function, so it is called


class Square:
    """Its area is computed once."""

    def __init__(self) -> None:
        self.side = 3

    @functools.cached_property
    def area(self) -> int:
        return self.side**2


def test_the_program_keeps_what_a_cached_property_has_computed() -> None:
    square = Square()
    assert contain("square.side = square.area + square.area", lambda: (square,)) == Ran(None, "")
    assert (square.side, square.area) == (18, 9)


class Table(dict[str, int]):
    """An own class with another base."""

    @property
    def size(self) -> int:
        return len(self)

    @size.setter
    def size(self, size: int) -> None:
        self.clear()
        self["size"] = size

    def put(self, key: str, value: int) -> int:
        self[key] = value
        return len(self)


class Product(pydantic.BaseModel):
    price: int


OTHER_BASES = {
    "table.put('b', 2)": 2,
    "table.size": 1,
    "table.size = 7\ntable.size": 1,
    "len(table)": "a Table cannot be used in contained code; call a function",
    "[*table]": "a Table cannot be used in contained code; call a function",
    "table['a']": "a Table cannot be used in contained code; call a function",
    "table.keys()": "`keys` of a Table cannot be used in contained code; call a function",
    "table.other = 1": "`other` of a Table cannot be set",
    "product.model_copy(update={'price': 5}).price + product.price": 8,
    "product.model_copy(update={'price': 'x'})": "`Product.price: int`: expected int, got str",
    "product.model_copy(update={'_cost': 5})": "`_cost` of a Product cannot be set",
    "product.model_copy(update={'cost': 5})": "`cost` is no attribute of a Product",
    "product.model_dump_json(), product.model_dump(mode='json')": ('{"price":3}', {"price": 3}),
    "product.model_dump_json(indent=10**9)": "use json and model_dump()",
    "f'{product} {product!r}', product == product.model_copy()": ("price=3 Product(price=3)", True),
    "import copy\ncopy.copy(product)": "contained code cannot make or copy a Product itself",
    "for line in lines: pass": "a generator cannot be used in contained code; call a function",
    "with lock: pass": "a lock cannot be used in contained code; call a function",
    "with log: pass": "'Log' object does not support the context manager protocol",
}


@pytest.mark.parametrize(("code", "expected"), OTHER_BASES.items(), ids=OTHER_BASES)
def test_objects_that_are_not_data_name_the_way_out(code: str, expected: Any) -> None:
    table, product, lock, log = Table(a=1), Product(price=3), threading.Lock(), Log()
    lines = (line for line in "ab")
    done = contain(code, lambda: (table, product, lock, log, lines))
    if isinstance(expected, str):
        assert isinstance(done, Failed)
        assert expected in done.message
    else:
        assert done == Ran(expected, "")


def test_objects_of_libraries_are_handles() -> None:
    numpy = pytest.importorskip("numpy")
    array, kept = numpy.arange(6), []  # type: ignore[var-annotated]

    def total(values: Any) -> int:
        return int(values.sum())

    code = "kept.append(array)\ntotal(array)"
    assert contain(code, lambda: (array, kept, total)) == Ran(15, "")
    assert kept[0] is array
    done = contain("array.sum()", lambda: (array,))
    assert isinstance(done, Failed)
    assert "`sum` of a ndarray cannot be used in contained code; call a function" in done.message


# ── the block around it ──────────────────────────────────────────────────────────────────────────


def test_a_place_that_cannot_contain_code_is_said_before_the_model_is_asked() -> None:
    model = njrt.Scripted(["unused"])
    with (
        njrt.using(model=model),
        pytest.raises(njrt.PolicyError, match="code in the body of a class cannot be contained"),
    ):

        class Host:
            x = 1
            njrt.run("natural Put 2 into <:x>.", lambda: (), at="case.njpy:1", writes="x", ns=locals(), own="x", policy="contained")  # fmt: skip

    assert model.requests == []


WITHOUT_FILTERS = """
import ctypes, platform, struct
from njrt.execution.contained.seccomp import install_filter

prctl = {"x86_64": 157, "aarch64": 167}[platform.machine()]
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, prctl), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
install_filter(b"".join(struct.pack("<HBBI", *rule) for rule in rules))

import njrt

model = njrt.Scripted([])
box = []
try:
    with njrt.using(model=model, policy="contained"):
        njrt.run("natural\\nAppend to <box>.", lambda: (box,), at="shop.njpy:1")
except njrt.NaturalError as error:
    print(type(error).__name__, error)
"""


def test_a_kernel_without_filters_is_refused() -> None:
    """Its calls of `prctl` fail, as on a kernel that was built without seccomp."""
    done = run_python("-c", WITHOUT_FILTERS, timeout=60)
    assert "PolicyError" in done.stdout, done.stdout + done.stderr
    assert "no filters of system calls" in done.stdout


def test_an_interrupted_start_does_not_give_the_next_block_another_process() -> None:
    assert contain("print(1)") == contain("print(1)")
    server = process._server._process
    assert server is not None
    os.kill(server.pid, signal.SIGSTOP)  # it answers late
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            contain("print(2)")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGCONT)
    with process.start_child(5) as child:
        time.sleep(0.3)
        state = Path(f"/proc/self/fdinfo/{child.handle}").read_text()
        assert "Pid:\t-1" not in state  # the process still runs: the code has not arrived yet
