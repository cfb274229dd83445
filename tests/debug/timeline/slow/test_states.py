"""What listeners are told of the variables of a block."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.events import Began, Ended, Event, Performed, StateChange
from njrt.log.listeners import add_listener
from njrt.testing import Request, Scripted, ToolCall, run
from processes import run_python


class Collector:
    """A listener that keeps the events."""

    def __init__(self, wants_states: bool = True) -> None:
        self.wants_states = wants_states
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def states(self) -> list[StateChange | None]:
        """The states of the events that may have one."""
        return [
            event.state for event in self.events if isinstance(event, Began | Performed | Ended)
        ]

    @property
    def changes(self) -> list[dict[str, str | None]]:
        return [dict(state.changes) for state in self.states if state is not None]


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    remove = add_listener(collector)
    yield collector
    remove()


class Item:
    def __init__(self, name: str, price: int) -> None:
        self.name, self.price = name, price


def run_block(value: Any, *replies: Any, **options: Any) -> Any:
    """Run a block on a value."""
    result = None
    with njrt.using(model=Scripted(list(replies)), **options):
        njrt.run(
            "natural\nChange <value> and bind <:result>.",
            lambda: (value, result),
            writes="result",
            at="a.njpy:1",
        )
    return result


LINE = "list, 600 items = [100, 101, 102, 103, 104, 105, 106, 107, ...]"

CASES: dict[str, tuple[Callable[[], Any], list[str], list[dict[str, str | None]]]] = {
    "a binding": (lambda: 1, ["result = value + 1"], [{"result": "int = 2"}, {}]),
    "a name of the block": (
        lambda: 1,
        ["a = 1", "del a", "result = 2"],
        [{"a": "int = 1"}, {"a": None}, {"result": "int = 2"}, {}],
    ),
    "an object changed in place": (
        lambda: [1],
        ["value.append(2)", "result = 0"],
        [{"value": "list[int], 2 items = [1, 2]"}, {"result": "int = 0"}, {}],
    ),
    "an attribute": (
        lambda: Item("lamp", 20),
        ["value.price = 5", "result = 0"],
        [{"value": "Item = Item(name='lamp', price=5)"}, {"result": "int = 0"}, {}],
    ),
    "an object beyond its line": (
        lambda: list(range(100, 700)),
        ["value[500] = 777", "result = 0"],
        [{"value": LINE}, {"result": "int = 0"}, {}],
    ),
    "a jump": (lambda: 1, ["result = 3\nraise KeyError(1)"], [{"result": "int = 3"}, {}]),
    "a secret": (
        lambda: 1,
        ["password = 'hunter22'; result = 'it is hunter22'"],
        [{"password": "str = <redacted>", "result": "str = 'it is <redacted>'"}, {}],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_changes_are_told_effect_by_effect(name: str, collector: Collector) -> None:
    make, codes, expected = CASES[name]
    replies = [run(code, done=code is codes[-1]) for code in codes]
    try:
        run_block(make(), *replies)
    except KeyError:
        assert name == "a jump"
    first, *changes = collector.changes
    assert first.keys() == {"value", "result"}
    assert changes == expected


def test_prints_are_told_with_their_effect_also_at_the_end(collector: Collector) -> None:
    run_block(1, run("print(1)"), run("print(2); result = 2", done=True))
    assert [state.printed for state in collector.states if state] == ["", "1\n", "2\n", ""]


def test_digests_are_equal_for_equal_states(collector: Collector) -> None:
    run_block([1], run("value.append(2)"), run("value.pop()"), run("result = 1", done=True))
    first, changed, back, bound, ended = (state.digest for state in collector.states if state)
    assert first == back
    assert bound == ended
    assert len({first, changed, bound}) == 3


def test_rollback_is_told_at_the_end(collector: Collector) -> None:
    with pytest.raises(KeyError):
        run_block(1, run("result = 5; raise KeyError(1)"), on_error="rollback")
    assert collector.changes[1:] == [{"result": "int = 5"}, {"result": "None"}]


def test_states_are_computed_only_for_listeners_that_want_them() -> None:
    collector = Collector(wants_states=False)
    remove = add_listener(collector)
    try:
        run_block(ReprCounter(), run("result = 1", done=True))
        shown = ReprCounter.count
    finally:
        remove()
    assert collector.states == [None, None, None]
    run_block(ReprCounter(), run("result = 1", done=True))
    assert len(collector.events) == 5, "it was removed"
    assert ReprCounter.count == 2 * shown


class ReprCounter:
    count = 0

    def __repr__(self) -> str:
        ReprCounter.count += 1
        return "one"


@pytest.mark.parametrize("wants_states", [True, False])
def test_what_the_model_is_shown_does_not_depend_on_a_listener(
    wants_states: bool, collector: Collector
) -> None:
    """What the states learn of secrets at the end of an effect must not be hidden in its answer."""
    collector.wants_states = wants_states
    shown: list[Request] = []

    def reply(request: Request) -> ToolCall:
        shown.append(request)
        codes = ["password = 'hunter22'", "'it is hunter22'", "del password; result = 1"]
        return run(codes[request.turn - 1], done=request.turn == 3)

    model = Scripted(reply)
    value, result = "a", None
    with njrt.using(model=model):
        njrt.run(
            "natural\nTake <value>, bind <:result>.",
            lambda: (value, result),
            writes="result",
            at="a.njpy:1",
        )
    assert result == 1
    assert str(shown[-1].messages[-1]).count("'it is <redacted>'") == 1
    assert str(shown[0].messages).count("redacted") == 0


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


HOSTILE = {
    "repr": Hostile(),
    "object": object(),
    "int": 1 << 99_999,
    "text": "\ud800",
    "module": sys,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_disturbs_the_block(name: str, collector: Collector) -> None:
    assert run_block(HOSTILE[name], run("result = 1", done=True)) == 1
    assert len(collector.changes) == 3


PROGRAM = '''
total = None
"""natural
Put 7 into <:total>.
"""
print(total)
'''


def test_njc_run_writes_a_trace(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "seven.njpy").write_text(f"import os\nos.chdir('elsewhere')\n{PROGRAM}")
    (tmp_path / "recording.jsonl").write_text('{"format": 1, "protocol": "tools"}\n')
    done = run_python(
        "-m",
        "njc",
        "run",
        "--trace",
        "t.jsonl",
        "seven.njpy",
        cwd=tmp_path,
        env=os.environ | {"NJC_RECORD": f"none:{tmp_path / 'recording.jsonl'}"},
        timeout=60,
    )
    assert "is not in the recording" in done.stderr
    assert '"event": "began"' in (tmp_path / "t.jsonl").read_text()
