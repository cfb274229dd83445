"""The timeline of a trace: steps in the order in which they began, and the variables at each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextvars import Context
from pathlib import Path

import pytest

import njrt
from njc.debug.timeline.breakpoints import (
    BlockLines,
    find_block_at,
    find_source,
    is_place,
)
from njc.debug.timeline.step_builder import StepBuilder
from njc.debug.timeline.steps import Step, Timeline
from njc.debug.timeline.stop_targets import find_difference, find_step_back_out, find_step_back_over
from njc.debug.trace_lines import TraceLine, parse_trace, read_trace
from njrt.data.timeouts import DeadlineExceeded, Stopwatch, call_with_timeout, paused, watched
from njrt.execution.scope.opening import make_scope
from njrt.testing import Scripted, run


def build_timeline(lines: Iterable[TraceLine]) -> Timeline:
    """Return the timeline of a trace, without its unreadable lines."""
    timeline, builder = Timeline(), StepBuilder()
    for line in lines:
        for step in builder.add(line):
            timeline.put(step)
    return timeline


def double(number: int) -> int:
    doubled = 0
    njrt.run(
        "natural\nDouble <number> into <:doubled>.",
        lambda: (number, doubled),
        writes="doubled",
        at="shop.njpy:2",
    )
    return doubled


REPLIES = [
    run("partial = double(4)\nprint('half')"),
    run("doubled = number * 2", done=True),
    run("1 / 0"),
    run("del partial\ntotal = double(5)", done=True),
    run("doubled = 10", done=True),
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return the trace of a block that calls another one twice."""
    path, total = tmp_path / "trace.jsonl", 0
    with njrt.using(model=Scripted(REPLIES), trace=path):
        njrt.run(
            "natural\nAdd <double> of 4 to <:total>.",
            lambda: (double, total),
            writes="total",
            at="shop.njpy:9",
        )
    assert total == 10
    return path


def test_the_steps_of_a_trace_are_in_the_order_of_their_beginning(trace: Path) -> None:
    timeline = build_timeline(read_trace(trace))
    assert [(step.kind, step.run, step.parent, step.depth) for step in timeline] == [
        ("enter", 1, None, 0),
        ("effect", 1, None, 0),
        ("enter", 2, 1, 1),
        ("effect", 2, 1, 1),
        ("exit", 2, 1, 1),
        ("effect", 1, None, 0),
        ("effect", 1, None, 0),
        ("enter", 3, 1, 1),
        ("effect", 3, 1, 1),
        ("exit", 3, 1, 1),
        ("exit", 1, None, 0),
    ]
    assert [step.number for step in timeline] == list(range(11))
    assert all(step.is_done for step in timeline)
    first, refused, last = timeline[1], timeline[5], timeline[10]
    assert (first.turn, first.printed, first.place) == (1, "half\n", "shop.njpy:9")
    assert first.changes == {"partial": "int = 8"}
    assert first.effect is not None
    assert first.effect["kind"] == "Run"
    assert (refused.is_refused, refused.turn) == (True, 2)
    assert refused.result.startswith("ZeroDivisionError")
    assert (last.result, last.jump) == ("completed", "")
    assert Counter(step.run for step in timeline) == {1: 5, 2: 3, 3: 3}


def test_a_call_of_a_gated_function_is_a_step_inside_its_effect(tmp_path: Path) -> None:
    @njrt.gated(decide="allow")
    def pay(number: int) -> int:
        return number * 2

    box: list[int] = []
    codes = ["for n in (1, 2):\n    box.append(pay(n))", "x = 1"]
    model = Scripted([run(codes[0]), run(codes[1], done=True)])
    with njrt.using(model=model, trace=tmp_path / "trace.jsonl"):
        njrt.run("natural\nPay into <box> by <pay>.", lambda: (pay, box), at="shop.njpy:2")
    timeline = build_timeline(read_trace(tmp_path / "trace.jsonl"))
    kinds = [step.effect["kind"] if step.effect else step.kind for step in timeline]
    assert kinds == ["enter", "Run", "Touch", "Touch", "Run", "exit"]
    assert all(step.is_done for step in timeline)
    assert timeline[1].changes["box"] == "list[int], 2 items = [2, 4]"
    assert [timeline[number].result for number in (2, 3)] == ["2", "4"]


def test_the_variables_at_a_step_are_those_of_its_run(trace: Path) -> None:
    timeline = build_timeline(read_trace(trace))
    function = "function double(number: int) -> int"
    start = {"double": function, "total": "int = 0"}
    assert timeline.variables_before(0) == {}
    assert timeline.variables_before(1) == start
    assert timeline.variables_before(3) == {"number": "int = 4", "doubled": "int = 0"}
    assert timeline.variables_before(5) == start | {"partial": "int = 8"}
    assert timeline.variables_before(99) == {}


def test_a_trace_that_is_cut_off_or_old_is_a_timeline_as_far_as_it_goes(trace: Path) -> None:
    data = trace.read_bytes()
    timeline = build_timeline(parse_trace(data[: len(data) * 2 // 3].splitlines(keepends=True)))
    assert 3 < len(timeline) < 11
    late = data.splitlines(keepends=True)[3:]
    assert build_timeline(parse_trace(late))[0].kind == "enter", (
        "the lines of the first run have no entry"
    )
    old = b'{"event": "began", "run": "r", "at": "2026-03-01T09:30:00Z", "place": "a.njpy:1"}\n'
    (step,) = build_timeline(parse_trace([old]))
    assert (step.kind, step.changes, step.digest) == ("enter", {}, "")


def test_going_back_over_and_out_leads_past_called_blocks(trace: Path) -> None:
    timeline = build_timeline(read_trace(trace))
    over = [find_step_back_over(timeline, number) for number in range(12)]
    assert over == [
        None, 0, 1, 2, 3, 1, 5, 6, 7, 8, 6, 10,
    ]  # fmt: skip
    out = [find_step_back_out(timeline, number) for number in range(12)]
    assert out == [
        None, 0, 1, 2, 2, 0, 0, 6, 7, 7, 0, 10,
    ]  # fmt: skip


def make_step(**fields: object) -> Step:
    return Step(**{"number": 1, "kind": "effect", "run": 1, "place": "a.njpy:1", **fields})  # type: ignore[arg-type]


DIFFERENCES: dict[str, tuple[dict[str, object], dict[str, object], str | None]] = {
    "nothing": ({}, {}, None),
    "kind": ({}, {"kind": "exit"}, "kind was effect, now exit"),
    "effect": (
        {"effect": {"kind": "Eval"}},
        {"effect": {"kind": "Done"}},
        'effect was {"kind": "Eval"}, now {"kind": "Done"}',
    ),
    "variable": (
        {"is_done": True, "changes": {"a": "1", "b": "2"}},
        {"is_done": True, "changes": {"a": "1", "b": None}},
        "variable `b` was 2, now None",
    ),
    "not bound": (
        {"is_done": True, "changes": {"a": "1"}},
        {"is_done": True},
        "variable `a` was 1, now (nothing)",
    ),
    "digest": (
        {"is_done": True, "digest": "x"},
        {"is_done": True, "digest": "y"},
        "a variable, beyond the shown part, was x, now y",
    ),
    "not yet done": ({"is_done": True, "digest": "x"}, {"digest": ""}, None),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_first_difference_of_a_step_is_named(name: str) -> None:
    known, repeated, expected = DIFFERENCES[name]
    found = find_difference(make_step(**known), make_step(**repeated))
    if expected is None:
        assert found is None
    else:
        assert expected in str(found)


@pytest.mark.parametrize(
    ("place", "wanted", "expected"),
    [
        ("mail.njpy:3", "mail.njpy:3", True),
        ("shop/mail.njpy:3", "mail.njpy:3", True),
        ("shop/mail.njpy:3", "/home/anna/shop/mail.njpy:3", True),
        ("shop\\mail.njpy:3", "shop/mail.njpy:3", True),
        ("mail.njpy:3", "mail.njpy:13", False),
        ("gmail.njpy:3", "mail.njpy:3", False),
        ("a/mail.njpy:3", "b/mail.njpy:3", False),
    ],
)
def test_places_are_compared_by_the_parts_that_both_have(
    place: str, wanted: str, expected: bool
) -> None:
    assert is_place(place, wanted) is expected


def test_blocks_are_found_by_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.njpy"
    file.write_text('x = 1\n"""natural\nPut <x>\ninto <:y>.\n"""\nz = """not one"""\n')
    assert [find_block_at(file, line) for line in (1, 2, 5, 6)] == [
        None,
        BlockLines(2, 5),
        BlockLines(2, 5),
        None,
    ]
    assert find_source("a.njpy:2", [tmp_path / "none", tmp_path]) == file
    file.write_text("foo(")
    assert find_block_at(file, 1) is None
    assert find_block_at(tmp_path / "none.njpy", 1) is None


def test_a_paused_watch_does_not_count() -> None:
    now = 5.0
    watch = Stopwatch(now, lambda: now)
    with watched(watch):
        now += 1
        with paused():
            now += 10
            with paused():
                now += 10
            assert watch.read() == 1
        now += 1
        assert watch.read() == 2

        def wait(everywhere: bool) -> None:
            nonlocal now
            with paused(everywhere):
                now += 1

        for everywhere in (False, True):
            Context().run(wait, everywhere)
        assert watch.read() == 3

    def think() -> str:
        with paused():
            for _ in range(400_000):
                pass
        return "done"

    assert call_with_timeout(0.005, think) == "done"
    with pytest.raises(DeadlineExceeded):
        call_with_timeout(0.05, lambda: [None for _ in iter(int, 1)])


def test_a_debugger_binds_what_a_prompt_only_reads() -> None:
    price, total = 3, 0
    scope = make_scope(lambda: (price, total, EXAMPLE), writes="total")
    for name in ("price", "total", "own"):
        scope.rebind(name, 7)
    scope.rebind("EXAMPLE", 8)
    assert (price, total, EXAMPLE, scope.list_variables()["own"]) == (7, 7, 8, 7)


EXAMPLE = 1
