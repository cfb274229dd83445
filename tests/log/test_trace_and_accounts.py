"""What is told of a run: to its account, to a watch, to the log, to a trace file, to OpenTelemetry."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer

import njrt
from njc.debug.trace_lines import BeganLine, read_trace
from njrt.data.outcome import Broke, Completed, Continued, Outcome, Raised, Returned
from njrt.effects import Answer, Effect, EffectResult, Refusal, Run
from njrt.events import (
    Asked,
    Began,
    Ended,
    Event,
    Listener,
    Performed,
    Replied,
    Unanswered,
    combine_listeners,
)
from njrt.log.accounts import ModelCall, Totals, record_event
from njrt.log.listeners import SafeListener
from njrt.log.telemetry import Telemetry
from njrt.log.trace import MAX_TEXT_CHARS, TraceFile
from njrt.messages import (
    ModelMessage,
    Reply,
    Request,
    Tool,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from processes import run_python
from waiting import run_threads

RUN = Tool("run", "Run Python.", {"type": "object"})
CALL = ToolCall("c1", "run", {"code": "total = f()", "done": True}, "{}")
SAID = ModelMessage("", (CALL,))
OPENING = UserMessage("Sum <prices>.\n---\nprices: list[int], 2 items = [3, 4]")
FIRST = Request("Be brief.", (OPENING,), (RUN,), 0.5, place="shop.njpy:3", turn=1)
SECOND = Request(
    "Be brief.",
    (OPENING, SAID, ToolMessage((ToolResult("c1", "run", "NameError: f", True),))),
    (RUN,),
    place="shop.njpy:3",
    turn=2,
)
REPLY = Reply(SAID, "end", Usage(100, 20, 60, 0.25), "gpt-4.1-2025", "model")
CACHED = Reply(SAID, "end", Usage(10, 2, 0, 0.5), "gpt-4.1-2025", "cache")


def run_of(
    run: str = "r-1",
    place: str = "shop.njpy:3",
    outcome: Outcome | BaseException = Completed(),  # noqa: B008
    parent: str | None = None,
) -> Iterator[Event]:
    """Yield the events of a run of two turns; the first fails, the second is served from the cache."""
    effect: Effect = Run("total = f()", True)
    results: list[EffectResult] = [Refusal("NameError: f"), Answer("7")]
    yield Began(run, 1000.0, place, "openai/gpt-4.1", "direct", parent)
    yield Asked(run, 1000.0, FIRST)
    yield Replied(run, 1001.5, 1, REPLY, 1.5)
    yield Performed(run, 1001.75, 1, effect, results[0], 0.25)
    yield Asked(run, 1002.0, SECOND)
    yield Replied(run, 1002.0, 2, CACHED, 0.0)
    yield Performed(run, 1002.5, 2, effect, results[1], 0.5)
    yield Ended(run, 1003.0, outcome, 3.0)


def tell(listener: Listener, events: Iterator[Event]) -> None:
    for event in events:
        listener(event)


# --- accounts


def test_the_account_of_a_run_says_what_happened_and_what_it_cost() -> None:
    tell(record_event, run_of())
    run = njrt.last_run()
    assert run is not None
    assert (run.id, run.place, run.model, run.outcome, run.error, run.seconds) == (
        "r-1",
        "shop.njpy:3",
        "openai/gpt-4.1",
        "completed",
        None,
        3.0,
    )
    assert [(call.request.turn, call.reply, call.seconds) for call in run.calls] == [
        (1, REPLY, 1.5),
        (2, CACHED, 0.0),
    ]
    assert [(act.result, act.is_refused) for act in run.effects] == [
        ("NameError: f", True),
        ("7", False),
    ]
    assert run.totals == Totals(1, 2, 2, 110, 22, 0.25, 3.0, cached_tokens=60)
    assert str(run.totals) == "1 run, 2 calls, 2 effects, 132 tokens, $0.2500, 3.0 s"


@pytest.mark.parametrize(
    ("usages", "shown"),
    [
        ([Usage(100, 20)], "price unknown"),
        ([Usage(100, 20), Usage(10, 2, 0, 0.25)], "at least $0.2500"),
        ([Usage(100, 20, 0, 0.0)], "$0.0000"),
        ([Usage(100, 20, 0, 0.25)], "$0.2500"),
        ([Usage()], "price unknown"),
        ([], "$0.0000"),
    ],
)
def test_a_price_that_is_not_known_is_not_zero(usages: list[Usage], shown: str) -> None:
    replies = [replace(REPLY, usage=usage) for usage in usages]
    calls = tuple(ModelCall(FIRST, reply, None, 1.0) for reply in replies)
    tell(record_event, run_of())
    run = njrt.last_run()
    assert run is not None
    totals = replace(run, calls=calls).totals
    assert f", {shown}, " in str(totals)
    assert totals.unpriced == sum(usage.usd is None for usage in usages)
    assert f", {shown}, " in str(totals + Totals(runs=1))


class Odd(Exception):
    def __str__(self) -> str:
        raise AssertionError

    __repr__ = __str__


ENDINGS: list[tuple[Outcome | BaseException, str, str | None]] = [
    (Broke(), "broke", None),
    (Continued(), "continued", None),
    (Returned(object()), "returned", None),
    (Raised(ValueError("no", 3)), "raised", "ValueError('no', 3)"),
    (Raised(Odd("x")), "raised", "<Odd whose __repr__ raised AssertionError>"),
    (njrt.ServerError("down"), "failed", "ServerError: down"),
    (asyncio.CancelledError(), "failed", "CancelledError()"),
]


@pytest.mark.parametrize(
    ("ended", "outcome", "error"), ENDINGS, ids=[outcome for _, outcome, _ in ENDINGS]
)
def test_every_ending_has_a_name(
    ended: Outcome | BaseException, outcome: str, error: str | None
) -> None:
    tell(record_event, run_of(outcome=ended))
    run = njrt.last_run()
    assert run is not None
    assert (run.outcome, run.error) == (outcome, error)


def test_an_unanswered_call_is_in_the_account() -> None:
    began, asked, *_ = run_of()
    error = njrt.ServerError("down")
    tell(
        record_event,
        iter([began, asked, Unanswered("r-1", 1, 1, error, 2.0), Ended("r-1", 1, error, 2.0)]),
    )
    run = njrt.last_run()
    assert run is not None
    assert [(call.reply, call.error) for call in run.calls] == [(None, "ServerError: down")]
    assert run.totals.calls == 1


def test_an_account_keeps_none_of_the_programs_objects_alive() -> None:
    class Value:
        pass

    value = Value()
    gone = weakref.ref(value)
    tell(record_event, run_of(outcome=Returned(value)))
    del value
    assert gone() is None


def test_a_watch_counts_the_runs_inside_it_by_place() -> None:
    tell(record_event, run_of("r-0"))
    with njrt.watch() as outer:
        tell(record_event, run_of("r-1", "a.njpy:1"))
        with njrt.watch() as inner:
            tell(record_event, run_of("r-2", "b.njpy:2"))
            tell(record_event, run_of("r-3", "a.njpy:1"))
    tell(record_event, run_of("r-4"))
    assert [run.id for run in outer.runs] == ["r-1", "r-2", "r-3"]
    assert [run.id for run in inner.runs] == ["r-2", "r-3"]
    assert outer.totals == Totals(3, 6, 6, 330, 66, 0.75, 9.0, cached_tokens=180)
    assert {place: used.runs for place, used in outer.by_place.items()} == {
        "a.njpy:1": 2,
        "b.njpy:2": 1,
    }
    assert str(outer).splitlines() == [
        "3 runs, 6 calls, 6 effects, 396 tokens, $0.7500, 9.0 s",
        "  a.njpy:1: 2 runs, 4 calls, 4 effects, 264 tokens, $0.5000, 6.0 s",
        "  b.njpy:2: 1 run, 2 calls, 2 effects, 132 tokens, $0.2500, 3.0 s",
    ]


def test_a_watch_sees_tasks_and_threads_inside_it() -> None:
    async def task(number: int) -> None:
        for event in run_of(f"task {number}"):
            record_event(event)
            await asyncio.sleep(0)

    async def tasks() -> None:
        await asyncio.gather(*(task(number) for number in range(5)))

    with njrt.watch() as seen:
        asyncio.run(tasks())
        run_threads(njrt.carry(lambda: tell(record_event, run_of("thread"))))
    assert sorted(run.id for run in seen.runs) == [*(f"task {n}" for n in range(5)), "thread"]
    assert all(len(run.calls) == 2 for run in seen.runs)


def test_the_last_run_is_that_of_this_thread() -> None:
    tell(record_event, run_of("ours"))
    run_threads(lambda: tell(record_event, run_of("theirs")))
    run = njrt.last_run()
    assert run is not None
    assert run.id == "ours"


# --- trace file


def test_the_trace_file_holds_every_event_and_only_new_messages(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "trace.jsonl"
    tell(TraceFile(path), run_of(outcome=Raised(ValueError("no")), parent="r-0"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.pop("event") for line in lines] == [
        "began",
        "asked",
        "replied",
        "performed",
        "asked",
        "replied",
        "performed",
        "ended",
    ]
    assert {line.pop("run") for line in lines} == {"r-1"}
    assert lines[0] == {
        "at": "1970-01-01T00:16:40.000000Z",
        "place": "shop.njpy:3",
        "model": "openai/gpt-4.1",
        "effects": "direct",
        "parent": "r-0",
    }
    assert lines[1] | {"at": ""} == {
        "at": "",
        "turn": 1,
        "system": ["Be brief."],
        "tools": ["run"],
        "temperature": 0.5,
        "shown": [{"user": ["Sum <prices>.", "---", "prices: list[int], 2 items = [3, 4]"]}],
    }
    assert lines[2]["reply"]["usage"] == {"input": 100, "output": 20, "cached": 60, "usd": 0.25}
    assert lines[3]["effect"] == {"kind": "Run", "code": "total = f()", "done": True}
    assert (lines[3]["kind"], lines[3]["result"], lines[3]["seconds"]) == (
        "refusal",
        "NameError: f",
        0.25,
    )
    assert lines[4]["shown"] == [
        {"results": [{"name": "run", "text": ["NameError: f"], "failed": True}]}
    ]
    assert "system" not in lines[4]
    assert lines[5]["source"] == "cache"
    assert lines[7] | {"at": ""} == {
        "at": "",
        "outcome": "raised",
        "error": "ValueError('no')",
        "seconds": 3.0,
    }


def test_large_texts_are_cut_and_odd_ones_escaped(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    effect = Run("x = '" + "y" * 1_000_000 + "'", True)
    TraceFile(path)(Performed("r", 1.0, 1, effect, Answer("\ud800\x1b"), 0.0))
    assert len(path.read_bytes()) < 2 * MAX_TEXT_CHARS
    line = json.loads(path.read_text())
    assert line["effect"]["code"].endswith("... (+980006)")
    assert line["result"] == "\ud800\x1b"


def test_a_trace_that_cannot_be_written_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING, "njrt"):
        tell(TraceFile(tmp_path / "file" / "trace.jsonl"), run_of())
    assert len(caplog.records) == 1
    assert "continuing without it" in caplog.text


TRACING = """
import sys, threading
from njrt.events import Began
from njrt.log.trace import TraceFile
trace = TraceFile(sys.argv[1])
def work(name):
    for number in range(100):
        trace(Began(f"{sys.argv[2]}-{name}-{number}", 1.0, "place " * 500))
threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_threads_and_processes_share_a_trace_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    children = [
        subprocess.Popen([sys.executable, "-c", TRACING, path, str(number)]) for number in range(3)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    runs = [json.loads(line)["run"] for line in path.read_text().splitlines()]
    assert len(runs) == len(set(runs)) == 900


# --- log


def test_the_log_has_only_warnings_by_default() -> None:
    program = (
        "import logging; from njrt.events import *; from njrt.log.listeners import make_listener\n"
        "tell = make_listener('/dev/null/trace')\n"
        "tell(Began('r', 1.0, 'p')); tell(Ended('r', 1.0, KeyError(), 1.0))"
    )
    off = f"import logging; logging.getLogger('njrt').disabled = True; {program}"
    said, silenced = (run_python("-c", each, check=True) for each in (program, off))
    (warning,) = said.stderr.splitlines()
    assert warning.startswith("the trace /dev/null/trace cannot be written")
    assert (said.stdout, silenced.stdout, silenced.stderr) == ("", "", "")


# --- OpenTelemetry


@contextmanager
def exported() -> Iterator[tuple[Tracer, InMemorySpanExporter]]:
    """Yield a tracer, and where its spans are found."""
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("njrt"), exporter
    provider.shutdown()


def test_spans_follow_the_conventions_for_generative_ai() -> None:
    with exported() as (tracer, exporter):
        tell(Telemetry(tracer), run_of())
    first_call, first_effect, second_call, second_effect, block = exporter.get_finished_spans()
    assert [span.name for span in exporter.get_finished_spans()] == [
        "chat gpt-4.1",
        "execute_tool run",
        "chat gpt-4.1",
        "execute_tool run",
        "invoke_agent shop.njpy:3",
    ]
    assert block.parent is None
    assert block.context is not None
    for span in (first_call, first_effect, second_call, second_effect):
        assert span.parent is not None
        assert span.parent.span_id == block.context.span_id
    assert dict(block.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "shop.njpy:3",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1",
        "njrt.run": "r-1",
        "njrt.effects": "direct",
        "njrt.data.outcome": "completed",
    }
    assert dict(first_call.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4.1",
        "gen_ai.request.max_tokens": 4096,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.response.model": "gpt-4.1-2025",
        "gen_ai.response.finish_reasons": ("tool_calls",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "njrt.source": "model",
        "njrt.turn": 1,
        "njrt.usd": 0.25,
    }
    assert first_call.kind is SpanKind.CLIENT
    assert (first_call.start_time, first_call.end_time) == (1000_000_000_000, 1001_500_000_000)
    assert (first_effect.start_time, first_effect.end_time) == (1001_500_000_000, 1001_750_000_000)
    assert (first_effect.attributes or {})["gen_ai.tool.name"] == "run"
    assert first_effect.status.status_code is StatusCode.ERROR
    assert second_effect.status.status_code is StatusCode.UNSET


def test_a_block_called_by_a_block_is_within_it_and_errors_are_marked() -> None:
    began, asked, *_, _ended = run_of("inner", parent="r-1")
    error = njrt.ServerError("down")
    unanswered, ended = Unanswered("inner", 1001, 1, error, 1.0), Ended("inner", 1002, error, 2.0)
    outer = list(run_of())
    with exported() as (tracer, exporter):
        tell(Telemetry(tracer), iter([*outer[:3], began, asked, unanswered, ended, *outer[3:]]))
    spans = {
        (span.name, (span.attributes or {}).get("njrt.run")): span
        for span in exporter.get_finished_spans()
    }
    inner, around = (
        spans["invoke_agent shop.njpy:3", "inner"],
        spans["invoke_agent shop.njpy:3", "r-1"],
    )
    assert inner.parent is not None
    assert around.context is not None
    assert inner.parent.span_id == around.context.span_id
    assert inner.status.status_code is StatusCode.ERROR
    assert (inner.attributes or {})["error.type"] == "ServerError"


def test_spans_stand_within_the_programs_own() -> None:
    with exported() as (tracer, exporter), tracer.start_as_current_span("request") as own:
        tell(Telemetry(tracer), run_of())
    *_, block, _own = exporter.get_finished_spans()
    assert block.parent is not None
    assert block.parent.span_id == own.get_span_context().span_id


# --- all together


def test_nothing_is_imported_for_listeners_that_nobody_asked_for() -> None:
    program = (
        "import sys; from njrt.events import *; from njrt.log.listeners import make_listener\n"
        "tell = make_listener()\n"
        "tell(Began('r', 1.0, 'p')); tell(Ended('r', 1.0, KeyError(), 1.0))\n"
        "print([m for m in ('logging', 'opentelemetry', 'sqlite3', 'asyncio', 'pydantic') if m in sys.modules])"
    )
    said = run_python("-c", program, check=True)
    assert said.stdout == "[]\n"


def test_a_listener_that_fails_never_reaches_the_program(caplog: pytest.LogCaptureFixture) -> None:
    def failing(event: Event) -> Any:
        raise RuntimeError("broken")

    heard: list[Event] = []
    with caplog.at_level(logging.WARNING, "njrt"):
        tell(combine_listeners(SafeListener(failing), heard.append), run_of())
    assert len(heard) == 8
    assert caplog.messages == ["a listener to natural blocks failed: RuntimeError: broken"]


@pytest.mark.parametrize("seed", range(20))
def test_a_trace_with_a_cut_line_is_continued_on_a_new_line(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    path = tmp_path / "trace.jsonl"
    written: list[str] = []
    for process in range(4):
        trace = TraceFile(path)
        for number in range(choose.randrange(1, 4)):
            run = f"{process}-{number}"
            trace(Began(run, 0.0, "mail.njpy:1", instruction="Grüße <x>."))
            written.append(run)
        trace.close()
        data = path.read_bytes()
        start = data.rstrip(b"\n").rfind(b"\n") + 1
        cut = choose.randrange(start + 1, len(data) + 1)
        if cut < len(data) - 1:  # else the line is whole
            written.pop()
        path.write_bytes(data[:cut])
    last = TraceFile(path)
    last(Began("last", 0.0, "mail.njpy:1"))
    last.close()
    found = [line.run for line in read_trace(path) if isinstance(line, BeganLine)]
    assert found == [*written, "last"]
    assert b"\n\n" not in path.read_bytes()
