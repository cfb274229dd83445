"""Loops that ask ahead of a server: the results, order and recordings of the loop without `ahead`."""

from __future__ import annotations

import asyncio
import json
import re
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import njrt
from loopback import Answer, Hang, Response, Seen, Status
from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njrt.log.accounts import Totals
from njrt.models.network import close_network
from openai_server import KEY, OpenAIServer, decides, says
from waiting import run_threads


class Echo(OpenAIServer):
    """Answers with the shown value of `item` as the topic; `together` requests wait for each other.

    A request for an item in `refused` is refused.
    """

    def __init__(self, together: int = 1, refused: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.refused = refused
        self.barrier = threading.Barrier(together) if together > 1 else None
        self.items: list[str] = []

    def answer_without_script(self, seen: Seen) -> Response:
        found = re.search(
            r"^item(?:.number)? = (.*)$", seen.body["messages"][-1]["content"], re.MULTILINE
        )
        assert found is not None
        self.items.append(found[1])
        if found[1] in self.refused:
            return Status(400, body={"error": {"message": "refused"}})
        return Answer(says(json.dumps({"topic": found[1]})).body)

    def choose_response(self, seen: Seen) -> Response:
        response = super().choose_response(seen)
        if self.barrier is not None and not self.barrier.broken:
            self.barrier.wait(timeout=10)
        return response


@pytest.fixture(autouse=True)
def no_connections() -> Iterator[None]:
    yield
    close_network()


BLOCK = '''"""natural({ahead}model="openai/gpt-4.1", effects="answer")
        Put the <:topic: str> of <item>.
        """'''


def load(text: str, width: int | None = 8, reads: str = "<item>") -> dict[str, Any]:
    """Run a module whose word BLOCK is a block in a loop of a function."""
    block = BLOCK.format(ahead=f"ahead={width}, " if width else "").replace("<item>", reads)
    source = SourceFile("p.njpy", textwrap.dedent(text).replace("BLOCK", block).encode())
    compilation = compile_source(source)
    assert compilation.output is not None, compilation.diagnostics
    names: dict[str, Any] = {"__name__": "p"}
    exec(compile(compilation.output, "p.py", "exec", dont_inherit=True), names)
    return names


@contextmanager
def serve(
    together: int = 1, refused: tuple[str, ...] = (), kind: type[Echo] = Echo
) -> Iterator[Echo]:
    """Start the server that the blocks ask."""
    with kind(together, refused) as server, pytest.MonkeyPatch.context() as patch:
        assert isinstance(server, Echo)
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", KEY)
        yield server


def write_loop(*more: str, before: tuple[str, ...] = ()) -> str:
    """Return a program that collects what its block finds, with lines before and after that."""
    body = (*before, "BLOCK", "found.append(topic)", *more)
    lines = "".join(f"        {line}\n" for line in body)
    return f"def f(items):\n    found = []\n    for item in items:\n{lines}    return found\n"


SIMPLE = write_loop()
KEEPING = SIMPLE.replace("(items)", "(items, found)").replace("found = []", "pass")
"""The same into a list of the caller."""


def test_eight_requests_are_sent_at_the_same_time() -> None:
    program = load(SIMPLE)
    with serve(together=8) as server, njrt.watch() as watch:
        assert program["f"](list(range(40))) == [str(number) for number in range(40)]
        assert len(server.items) == 40
    assert watch.totals.calls == 40
    assert watch.dropped == Totals()
    assert [run.calls[0].reply is not None for run in watch.runs] == [True] * 40


SHAPES = [
    ("item", "list(range(5))"),
    ("item", "tuple(range(5))"),
    ("item", "range(5)"),
    ("item", "dict.fromkeys(range(5))"),
    ("item", "{n: n for n in range(5)}.values()"),
    ("number, item", "enumerate(list(range(5)))"),
    ("number, item", "enumerate(list(range(5)), 7)"),
    ("item, number", "zip(range(5), list(range(5)))"),
    ("item, number", "{n: n for n in range(5)}.items()"),
    ("item, both", "zip(range(5), enumerate({n: n for n in range(5)}.items()), strict=True)"),
]


@pytest.mark.parametrize(("targets", "items"), SHAPES)
def test_the_items_of_a_collection_are_peeked(targets: str, items: str) -> None:
    text = f"def f():\n    found = []\n    for {targets} in {items}:\n        BLOCK\n"
    program = load(text + "        found.append(topic)\n    return found\n")
    with serve(together=5):
        assert program["f"]() == [str(number) for number in range(5)]


UNPEEKED = ["iter([1, 2])", "(n for n in [1, 2])", "{1, 2}", "map(int, '12')", "Own([1, 2])"]


@pytest.mark.parametrize("items", UNPEEKED)
def test_other_iterables_are_gone_through_one_by_one(items: str) -> None:
    program = load("class Own(list):\n    pass\n\n\n" + SIMPLE)
    with serve() as server:
        assert program["f"](eval(items, program)) == ["1", "2"]
        assert len(server.items) == 2


PROGRAMS = {
    "the list grows": """
def f(items):
    for item in items:
        BLOCK
        if len(items) < 9:
            items.append(item + 10)
    return items, topic
""",
    "items are removed": write_loop("items.pop()"),
    "items are put in front": write_loop(
        "if len(found) == 6: break", "items.insert(0, -len(found))"
    ),
    "the list is sorted": write_loop("items.sort(reverse=True)"),
    "a dict changes its size": """
def f(items):
    found, kept = [], dict.fromkeys(items)
    try:
        for item in kept:
            BLOCK
            found.append(topic)
            kept[len(found) + 100] = None
    except RuntimeError as error:
        return found, str(error)
""",
    "an item is changed": """
def f(items):
    boxes, found = [[number] for number in items], []
    for item in boxes:
        BLOCK
        found.append(topic)
        boxes[-1].append(len(found))
    return found
""",
    "items are skipped": write_loop(before=("if item % 3: continue",)),
    "nested loops": """
def f(items):
    found = []
    for item in items:
        BLOCK
        found.append(topic)
        for inner in g(item):
            found.append(inner)
    return found

def g(number):
    for item in range(number):
        BLOCK
        yield topic
""",
    "recursion": write_loop("found.append(f(items[item + 1:item + 3]))"),
    "a loop with an else": """
def f(items):
    for item in items:
        BLOCK
    else:
        return topic, item
""",
    "the block jumps": """
def f(items):
    found = []
    for item in items:
        BLOCK
        if item == 3:
            break
        found.append(topic)
    return found, item, topic
""",
    "an exception": """
def f(items):
    found = []
    try:
        for item in items:
            BLOCK
            found.append(topic)
            1 / (2 - item)
    except ZeroDivisionError as error:
        return found, str(error)
""",
    "closures over the loop's variable": """
def f(items):
    found = []
    for item in items:
        show = lambda: item
        BLOCK
        found.append((topic, show()))
    return found, show()
""",
    "a private name": """
class Box:
    def open(self, items):
        found = []
        for __number, item in enumerate(items):
            BLOCK
            found.append((topic, __number))
        return found

def f(items):
    return Box().open(items)
""",
    "a variable of the module": """
found = []
def f(items):
    global item
    for item in items:
        BLOCK
        found.append((topic, item, globals()["item"]))
    return found
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_loop_without_ahead(name: str) -> None:
    with serve():
        expected = load(PROGRAMS[name], None)["f"](list(range(6)))
        assert load(PROGRAMS[name])["f"](list(range(6))) == expected


def test_a_loop_of_a_module_asks_ahead() -> None:
    text = "found = []\nfor item in range(6):\n    BLOCK\n    found.append((topic, item))\n"
    with serve(together=6):
        program = load(text)
    assert program["found"] == [(str(number), number) for number in range(6)]
    assert program["item"] == 5


@pytest.mark.parametrize("end", ["break", "return found", "raise ValueError(item)"])
def test_the_end_of_a_loop_drops_what_is_on_its_way(end: str) -> None:
    with serve() as server, njrt.watch() as watch:
        with pytest.raises(ValueError, match="1") if "raise" in end else njrt.using():
            load(write_loop(f"if item: {end}"))["f"](list(range(40)))
        assert len(server.items) <= 2 + 7
    assert len(watch.runs) == 2
    assert watch.totals.calls == 2 + 7
    assert watch.dropped.calls == 7
    assert watch.dropped.input_tokens in range(0, 7001, 1000)
    assert watch.totals == sum((run.totals for run in watch.runs), watch.dropped)


def test_three_drops_in_a_row_end_it() -> None:
    text = write_loop("change()").replace("(items)", "(items, notes)")
    program = load(text, reads="<item> and <notes>")
    notes: list[int] = []
    program["change"] = lambda: notes.append(1)
    with serve() as server, njrt.watch() as watch:
        assert program["f"](list(range(20)), notes) == [str(number) for number in range(20)]
        assert len(server.items) <= 20 + 10
    assert watch.dropped.calls <= 10


def test_errors_of_requests_ahead_are_those_of_the_iterations() -> None:
    with serve(refused=("3",)):
        text = write_loop("if item == most: break").replace("found = []", "pass")
        program = load(text.replace("(items)", "(items, found, most)"))
        out: list[str] = []
        program["f"](list(range(9)), out, 2)
        assert out == ["0", "1", "2"]
        with pytest.raises(njrt.ModelError, match="refused"):
            program["f"](list(range(9)), out := [], 8)
        assert out == ["0", "1", "2"]


def test_limits_leave_a_request_for_each_iteration() -> None:
    with serve(together=4), njrt.limit(seconds=60):
        assert load(SIMPLE)["f"](list(range(4))) == ["0", "1", "2", "3"]
    with serve() as server, njrt.limit(calls=3):
        found: list[str] = []
        with pytest.raises(njrt.CallLimitError):
            load(KEEPING)["f"](list(range(9)), found)
        assert found == ["0", "1", "2"]
        assert len(server.items) == 3
    with serve(), njrt.limit(tokens=4 * 1020):
        with pytest.raises(njrt.TokenLimitError):
            load(KEEPING)["f"](list(range(9)), found := [])
        assert found == ["0", "1", "2", "3"]


def test_a_recording_has_what_was_used_and_replays_offline(tmp_path: Path) -> None:
    text = PROGRAMS["the block jumps"]
    with serve():
        for name, width in (("one", None), ("ahead", 8)):
            with njrt.using(record=tmp_path / f"{name}.jsonl"):
                expected = load(text, width)["f"](list(range(9)))
    recorded = [
        [{**json.loads(line), "at": 0, "seconds": 0} for line in path.read_text().splitlines()]
        for path in (tmp_path / "one.jsonl", tmp_path / "ahead.jsonl")
    ]
    assert recorded[0] == recorded[1]
    for width in (None, 8):
        with njrt.using(record=f"none:{tmp_path / 'ahead.jsonl'}"):
            assert load(text, width)["f"](list(range(9))) == expected


def test_two_threads_have_loops_of_their_own() -> None:
    program, found = load(SIMPLE), dict[int, list[str]]()

    def work(start: int) -> None:
        found[start] = program["f"](list(range(start, start + 12)))

    with serve() as server:
        run_threads(lambda: work(0), lambda: work(100))
        assert len(server.items) == 24
    assert found == {it: [str(n) for n in range(it, it + 12)] for it in (0, 100)}


def test_nothing_of_the_program_runs_for_an_item_that_is_not_reached() -> None:
    text = """
from dataclasses import dataclass

shown = []

class Own:
    def __init__(self, number):
        self.number = number
    def __repr__(self):
        shown.append(self.number)
        return f"Own({self.number})"

@dataclass
class Plain:
    number: int

    @property
    def double(self):
        shown.append(self.number)
        return 2 * self.number

def f(items):
    found = []
    for item in items:
        BLOCK
        found.append(topic)
        break
    return found
"""
    program = load(text)
    with serve() as server:
        assert program["f"]([program["Own"](number) for number in range(5)]) == ["Own(0)"]
        assert set(program["shown"]) == {0}
        assert len(server.items) == 1
    with serve(together=5):
        items = [program["Plain"](number) for number in range(5)]
        assert program["f"](items) == ["Plain(number=0)"]
    program["shown"].clear()
    with serve() as server:
        program = load(text, reads="<item.number> by <item.double>")
        program["f"]([program["Plain"](number) for number in range(5)])
        assert set(program["shown"]) <= {0}


def test_nothing_is_sent_ahead_where_others_decide() -> None:
    program = load(SIMPLE)
    settings: list[dict[str, Any]] = [
        {"intercept": lambda pending: njrt.Accept()},
        {"budget": "tokens=100000 per=day"},
        {"max_tokens": 10_000},
    ]
    for given in settings:
        with serve() as server, njrt.using(**given):
            program["f"](list(range(3)))
            assert server.items == ["0", "1", "2"], given
    with njrt.using(model=njrt.Scripted(['{"topic": "a"}'] * 3)):
        assert program["f"]([1, 2, 3]) == ["a"] * 3


ASYNC = """
import asyncio

async def f(items):
    found = []
    for item in items:
        BLOCK
        found.append(topic)
        if item == 11:
            break
    return found

def both(items):
    async def run():
        return await asyncio.gather(f(items), f(items))
    return asyncio.run(run())
"""


def test_an_async_function_asks_ahead() -> None:
    program = load(ASYNC)
    with serve(together=8) as server:
        assert asyncio.run(program["f"](list(range(8)))) == [str(number) for number in range(8)]
        assert len(server.items) == 8
    with serve(), njrt.watch() as watch:
        assert program["both"](list(range(40))) == [[str(number) for number in range(12)]] * 2
    assert watch.dropped.calls == 2 * 7


def test_a_cancelled_task_cancels_what_is_on_its_way() -> None:
    program = load(ASYNC)

    async def cancel() -> None:
        task = asyncio.create_task(program["f"](list(range(40))))
        while len(server.seen) < 8:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with serve(together=9) as server, njrt.watch() as watch:
        asyncio.run(asyncio.wait_for(cancel(), 20))
        assert server.barrier is not None
        server.barrier.abort()
    assert len(server.seen) == 8
    assert watch.dropped.calls == 7


class Hanging(Echo):
    """Never answers for the item 2."""

    def choose_response(self, seen: Seen) -> Response:
        response = super().choose_response(seen)
        return Hang() if self.items[-1] == "2" else response


def test_a_request_ahead_that_hangs_takes_no_more_than_the_run_may() -> None:
    found: list[str] = []
    with serve(kind=Hanging), njrt.using(max_seconds=1.0), pytest.raises(njrt.TimeLimitError):
        load(KEEPING)["f"](list(range(9)), found)
    assert found == ["0", "1"]


class Deciding(Echo):
    """Gives the probabilities of two answers."""

    def answer_without_script(self, seen: Seen) -> Response:
        return decides(("B", 0.9), ("A", 0.1))


def test_decisions_are_asked_ahead() -> None:
    text = SIMPLE.replace("BLOCK", BLOCK.replace("str>", "Literal['a', 'b']>"))
    text = text.format(ahead="ahead=8, decide=True, ")
    with serve(8, kind=Deciding), njrt.watch() as watch:
        program = load(f"from typing import Literal\n{text}")
        assert program["f"](list(range(8))) == ["b"] * 8
    assert [run.certainty for run in watch.runs] == [0.9] * 8


def test_a_loop_keeps_nothing_alive() -> None:
    text = """
import gc
import weakref
from dataclasses import dataclass

@dataclass
class Kept:
    number: int

def f(items):
    for item in items:
        BLOCK
        if item.number == 3:
            return [weakref.ref(each) for each in items]

def g():
    gc.disable()
    try:
        return [each() for each in f([Kept(number) for number in range(9)])]
    finally:
        gc.enable()
"""
    with serve():
        assert load(text)["g"]() == [None] * 9


def test_an_item_that_needs_code_is_not_peeked(tmp_path: Path) -> None:
    """Also in the trace: what has not begun has done nothing."""
    found: list[str] = []
    program, trace = load(KEEPING), tmp_path / "trace.jsonl"
    given = njrt.using(trace=trace, authority="strict")
    with serve(together=2) as server, given, pytest.raises(njrt.PolicyError):
        program["f"](["a", "x" * 40_000, "b"], found)
    assert found == ["'a'"]
    assert "'b'" in server.items
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    begun = {event["run"] for event in events if event["event"] == "began"}
    assert len(begun) == 2
    assert {event["run"] for event in events if "run" in event} == begun


def test_replies_of_the_cache_are_asked_for_once(tmp_path: Path) -> None:
    program = load(SIMPLE)
    with serve() as server, njrt.using(cache=tmp_path):
        for _ in range(2):
            with njrt.watch() as watch:
                assert program["f"](list(range(12))) == [str(number) for number in range(12)]
            assert watch.dropped.calls == 0
    assert len(server.items) == 12
