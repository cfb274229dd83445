"""Files of JSON Lines that a kill has cut off at any byte of their last line: only that line is lost, and no later one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import njrt
from njc.debug.trace_lines import BeganLine, read_trace
from njrt.data.private_files import drop_cut_line, end_last_line
from njrt.events import Began
from njrt.log.recording_file import RecordedTouch, read_recording
from njrt.log.recording_place import RecordingFile
from njrt.log.trace import TraceFile
from njrt.messages import ModelMessage, Reply, Request, UserMessage
from spsbench.journal import Journal
from spsbench.results import read_results

Numbers = list[int]
RESULTS = Path(__file__).parents[2] / "spsbench" / "results" / "qwen2.5-coder-1.5b.jsonl"


def add_reply(path: Path, number: int) -> None:
    async def answer(request: Request) -> Reply:
        return Reply(ModelMessage("ü"), model="m")

    recorder = njrt.Recorder(path, "new")
    recorder._get_open_recording().is_appended = True  # add the line alone
    request = Request("", (UserMessage(f"ü{number}"),), place="m.njpy:1")
    asyncio.run(recorder.answer(request, answer))


def read_replies(path: Path) -> Numbers:
    entries = read_recording(RecordingFile(path), is_continued=True).entries
    return [int(entry.shown[0]["user"][0].lstrip("ü")) for entry in entries]


def add_call(path: Path, number: int) -> None:
    effect = {"kind": "Touch", "function": "pay", "arguments": {"to": f"ü{number}"}}
    call = RecordedTouch("m.njpy:1", "k", number, effect, id=str(number), state="done")
    recorder = njrt.Recorder(path, "new")
    recording = recorder._get_open_recording()
    recording.is_appended = recording.unfinished = True  # add the line alone
    recorder.record_call(None, call)


def read_calls(path: Path) -> Numbers:
    return [call.number for call in read_recording(RecordingFile(path)).touches]


def add_event(path: Path, number: int) -> None:
    trace = TraceFile(path)
    trace(Began(str(number), 0.0, "m.njpy:1", instruction="ü"))
    trace.close()


def read_events(path: Path) -> Numbers:
    return [int(line.run) for line in read_trace(path) if isinstance(line, BeganLine)]


def add_benchmark_run(path: Path, number: int) -> None:
    line = json.loads(RESULTS.read_text("utf-8").split("\n")[0])
    (run,) = read_results([json.dumps(line | {"started": f"ü{number}"})]).runs
    with Journal(path) as journal:
        journal.append(run)


def read_benchmark_runs(path: Path) -> Numbers:
    if not path.read_bytes():
        return []
    with path.open(encoding="utf-8", errors="replace") as file:
        return [int(run.started.lstrip("ü")) for run in read_results(file).runs]


Add = Callable[[Path, int], None]
HEADER = (
    '{"format": 3, "model": "m", "protocol": "text", "date": "2026-03-01", "unfinished": true}\n'
)
STORES: dict[str, tuple[str, Add, Callable[[Path], Numbers]]] = {
    "replies of a recording": (HEADER.replace(', "unfinished": true', ""), add_reply, read_replies),
    "calls of a recording": (HEADER, add_call, read_calls),
    "trace": ("", add_event, read_events),
    "benchmark": ("", add_benchmark_run, read_benchmark_runs),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STORES)
def test_only_the_line_that_was_being_written_is_lost(name: str, tmp_path: Path) -> None:
    first, add, read = STORES[name]
    path = tmp_path / "lines.jsonl"
    path.write_text(first, "utf-8")
    add(path, 1)
    start = path.stat().st_size
    add(path, 2)
    whole = path.read_bytes()
    assert whole.startswith(path.read_bytes()[:start])
    for size in range(start, len(whole) + 1):
        path.write_bytes(whole[:size])
        add(path, 3)
        kept = [1, 2] if size >= len(whole) - 1 else [1]
        assert read(path) == [*kept, 3], whole[start:size]
        path.write_bytes(whole[:size])
        if name != "trace":
            assert read(path) == kept, whole[start:size]
    for size in range(len(first) + 1, start - 1, 7):
        path.write_bytes(whole[:size])
        add(path, 3)
        assert read(path) == [3], whole[:size]


def test_a_recording_that_is_written_whole_keeps_what_another_process_has_added(
    tmp_path: Path,
) -> None:
    path = tmp_path / "shop.jsonl"
    with njrt.using(model=njrt.Scripted(lambda _: "ü"), record=f"new:{path}"):
        njrt.llm("ü1")
        add_reply(path, 2)
        line = path.read_bytes().splitlines()[-1]
        with path.open("ab") as file:
            file.write(line[: line.index("ü".encode()) + 1])  # cut off within a character
        njrt.llm("ü3")
    assert sorted(read_replies(path)) == [1, 2, 3]


LINE = '{"effect": {"code": ü = 1}, "comment": "a decision that somebody has typed"}'


def test_a_mistake_inside_of_the_last_line_is_kept(tmp_path: Path) -> None:
    """An editor may leave the end of the last line out, and its author a quote."""
    text = ('{"a": 1}\n' + LINE).encode()
    path = tmp_path / "edited.jsonl"
    path.write_bytes(text)
    assert drop_cut_line(text) == text
    end_last_line(path)
    assert path.read_bytes() == text + b"\n"
