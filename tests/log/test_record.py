"""Recordings: made once by a model, kept as text, said again without one; every mismatch is explained."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import njrt
from njrt.data.message_json import hash_conversation, reply_from_json, reply_to_json
from njrt.errors import RecordingError, RecordingMismatchError, RecordingMissingError
from njrt.log.recorder import Recorder, RecordMode
from njrt.log.recording_file import read_recording
from njrt.log.recording_place import RecordingFile
from njrt.messages import (
    Message,
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
from njrt.models.model import LayeredModel
from njrt.testing import Scripted, run
from waiting import run_threads

RUN = Tool("run", "Run Python.", {"type": "object"})


def asking(
    text: str, *more: Message, place: str = "mail.njpy:3", turn: int = 1, **other: Any
) -> Request:
    return Request("system", (UserMessage(text), *more), (RUN,), place=place, turn=turn, **other)


def nobody() -> Scripted:
    """Return a model that must not be asked."""
    return Scripted([])


def played(path: Path, mode: RecordMode, model: Scripted, *requests: Request) -> list[Reply]:
    with Recorder(path, mode) as recorder:
        layered = LayeredModel(model, (recorder,))
        return [layered.ask(request) for request in requests]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recordings" / "mail.jsonl"


def test_a_recording_is_text_for_people(path: Path) -> None:
    first = asking("Sort <mail>.\n---\nmail: list[Mail], 2 items = [...]")
    said = ModelMessage("Let me look.", (run("for m in mail:\n    print(m)"),))
    model = Scripted(
        [
            Reply(said, "end", Usage(100, 20, 5, 0.01), "m-1"),
            Reply(ModelMessage("", (run("x = 'ß'", True),)), model="m-1"),
        ]
    )
    second = asking(
        first.messages[0].text,  # type: ignore[union-attr]
        said,
        ToolMessage((ToolResult("1", "run", "boom\nline 2", failed=True),)),
        turn=2,
    )
    played(path, "once", model, first, second)
    header, *entries = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert header.pop("made_by") == f"njrt {njrt.__version__}"
    assert header == {
        "format": 1,
        "model": "m-1",
        "protocol": "tools",
        "date": time.strftime("%Y-%m-%d"),
    }
    assert [list(entry) for entry in entries] == [["place", "turn", "key", "shown", "reply"]] * 2
    assert entries[0]["shown"] == [
        {"user": ["Sort <mail>.", "---", "mail: list[Mail], 2 items = [...]"]}
    ]
    call_id = entries[0]["reply"]["calls"][0].pop("id")
    assert isinstance(call_id, str)
    assert entries[0]["reply"] == {
        "text": ["Let me look."],
        "calls": [
            {
                "name": "run",
                "code": ["for m in mail:", "    print(m)"],
                "arguments": {"done": False},
            }
        ],
        "usage": {"input": 100, "output": 20, "cached": 5, "usd": 0.01},
    }
    assert entries[1]["shown"] == [
        {"results": [{"name": "run", "text": ["boom", "line 2"], "failed": True}]}
    ]
    assert "'ß'" in path.read_text("utf-8")


def test_what_was_recorded_is_replayed_without_a_model(path: Path) -> None:
    (live,) = played(path, "once", Scripted([run("x = 1", True)]), asking("A"))
    for mode in ("none", "once", "new"):
        (again,) = played(path, mode, nobody(), asking("A"))  # type: ignore[arg-type]
        assert again.source == "recording"
        assert again.message.calls[0].arguments == live.message.calls[0].arguments
        assert again.usage == live.usage


def test_only_the_conversation_must_be_the_same(path: Path) -> None:
    played(path, "once", Scripted(["yes"]), asking("A"))
    other = Request("another system", (UserMessage("A"),), (), 0.7, 10, 1.0, "moved.njpy:99", 1)
    (reply,) = played(path, "none", nobody(), other)
    assert reply.message.text == "yes"


def test_the_ids_of_tool_calls_do_not_matter() -> None:
    def conversation(name: str) -> list[Message]:
        call = ToolCall(name, "run", {"code": "1"}, '{"code": "1"}')
        return [
            UserMessage("A"),
            ModelMessage("", (call,)),
            ToolMessage((ToolResult(name, "run", "1"),)),
        ]

    assert hash_conversation(conversation("a")) == hash_conversation(conversation("b"))
    assert hash_conversation(conversation("a")) != hash_conversation(conversation("a")[:2])


@pytest.mark.parametrize("mode", ["none", "once"])
def test_equal_requests_get_their_replies_in_order_each_once(path: Path, mode: RecordMode) -> None:
    played(path, "once", Scripted(["1", "2"]), asking("A"), asking("A"))
    replies = played(path, mode, nobody(), *[asking("A")] * 2)
    assert [reply.message.text for reply in replies] == ["1", "2"]
    words = "mail.njpy:3: the recording has no reply number 3 to this request; record it with NJC_RECORD=new:"
    with Recorder(path, mode) as recorder:
        layered = LayeredModel(nobody(), (recorder,))
        for _ in range(2):
            layered.ask(asking("A"))
        for _ in range(2):
            with pytest.raises(RecordingMismatchError, match=words) as caught:
                layered.ask(asking("A"))
            assert caught.value.place == "mail.njpy:3"
        assert len(recorder.errors) == 2


def test_new_records_a_request_that_comes_more_often(path: Path) -> None:
    played(path, "once", Scripted(["1"]), asking("A"))
    replies = played(path, "new", Scripted(["2"]), asking("A"), asking("A"))
    assert [reply.message.text for reply in replies] == ["1", "2"]
    replies = played(path, "none", nobody(), asking("A"), asking("A"))
    assert [reply.message.text for reply in replies] == ["1", "2"]


def test_a_mode_is_a_part_of_the_place_in_settings_only(tmp_path: Path) -> None:
    place = tmp_path / "x.jsonl"
    with njrt.using(record=f"new:{place}", model=Scripted(["1"])):
        njrt.llm("A")
    assert place.exists()
    with pytest.raises(njrt.ConfigurationError, match="no part of its name here"):
        Recorder("none:x.jsonl")


def test_new_records_what_is_missing_and_keeps_the_rest(path: Path) -> None:
    played(path, "once", Scripted(["a"]), asking("A"))
    before = path.read_text().splitlines()
    replies = played(path, "new", Scripted(["b"]), asking("A"), asking("B"))
    assert [reply.message.text for reply in replies] == ["a", "b"]
    assert path.read_text().splitlines()[:2] == before
    assert [r.message.text for r in played(path, "none", nobody(), asking("B"), asking("A"))] == [
        "b",
        "a",
    ]


def test_all_records_everything_anew(path: Path) -> None:
    played(path, "once", Scripted(["a", "b", "c"]), asking("A"), asking("B"), asking("C"))
    played(path, "all", Scripted(["new c", "d", "new a"]), asking("C"), asking("D"), asking("A"))
    texts = [json.loads(line)["reply"]["text"] for line in path.read_text().splitlines()[1:]]
    assert texts == [["new c"], ["d"], ["new a"]]


def test_once_replays_only_when_there_is_a_file(path: Path) -> None:
    played(path, "once", Scripted(["a"]), asking("A"))
    with pytest.raises(RecordingMismatchError):
        played(path, "once", Scripted(["b"]), asking("B"))


def test_a_mismatch_says_which_block_and_shows_the_first_difference(path: Path) -> None:
    shown = "Sort <mail>.\n---\nmail: list[Mail], {} items = [...]\njumps: break"
    played(
        path,
        "once",
        Scripted(["a", "b"]),
        asking("Other.", place="mail.njpy:3"),
        asking(shown.format(2), place="mail.njpy:9"),
    )
    with pytest.raises(RecordingMismatchError) as raised:
        played(path, "none", nobody(), asking(shown.format(3), place="mail.njpy:9"))
    assert str(raised.value) == (
        "mail.njpy:9: the program differs from the recording, "
        "first in line 3 of turn 1:\n"
        "    recorded: mail: list[Mail], 2 items = [...]\n"
        "    now:      mail: list[Mail], 3 items = [...]\n"
        f"in {path}; record the difference with NJC_RECORD=new:{path}, or everything again with NJC_RECORD=all:{path}"
    )
    assert raised.value.place == "mail.njpy:9"


def test_a_mismatch_in_a_later_turn_shows_what_was_new_in_it(path: Path) -> None:
    said = ModelMessage("", (ToolCall("1", "run", {"code": "f()"}, "{}"),))

    def second(result: str) -> Request:
        return asking("A", said, ToolMessage((ToolResult("1", "run", result),)), turn=2)

    played(path, "once", Scripted(["a", "b"]), asking("A"), second("3"))
    with pytest.raises(
        RecordingMismatchError, match=r"line 1 of turn 2:\n    recorded: 3\n    now:      4\n"
    ):
        played(path, "none", nobody(), asking("A"), second("4"))
    with pytest.raises(
        RecordingMismatchError, match="turn 3 of this block is not in the recording"
    ):
        played(path, "none", nobody(), asking("A", said, said, turn=3))


def test_a_recording_that_ends_early_is_told_from_a_changed_program(path: Path) -> None:
    played(path, "once", Scripted(["a"]), asking("A"))
    with pytest.raises(RecordingMismatchError) as raised:
        played(path, "once", nobody(), asking("A"), asking("B"))
    assert "the run that made it was killed, or asked no more (1 reply, all replayed)" in str(
        raised.value
    )
    assert "the mode `new` continues it" in str(raised.value)
    assert "differs" not in str(raised.value)
    played(path, "new", Scripted(["b"]), asking("A"), asking("B"))
    again = played(path, "once", nobody(), asking("A"), asking("B"))
    assert [reply.message.text for reply in again] == ["a", "b"]


def test_a_missing_recording_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(
        RecordingMissingError,
        match=f"there is no recording {path}; create it with NJC_RECORD=once:",
    ):
        played(path, "none", nobody(), asking("A"))
    assert not path.parent.exists()


ENTRY = '{"place": "p", "turn": 1, "key": "k", "shown": [], "reply": {"text": ["x"]}}'
HEADER = '{"format": 1, "model": "m", "protocol": "text", "date": "2026-03-01"}'
FIELDS = [
    ('"turn": 1', '"turn": "one"', "turn: Input should be a valid integer"),
    ('"turn": 1', '"turn": null', "turn: "),
    ('"place": "p", ', "", "place: Field required"),
    ('["x"]', "3", "reply: TypeError: "),
    ('["x"]', '["x", null]', "reply: TypeError: "),
    ('["x"]}', '["x"], "stop": "soon"}', "reply: ValueError: unknown stop reason 'soon'"),
    ('["x"]}', '["x"], "usage": 3}', "reply: AttributeError: "),
    ('["x"]}', '["x"], "calls": [{"id": "a"}]}', "reply: KeyError: 'name'"),
    ('"shown": []', '"shown": [3]', "shown.0: "),
]


@pytest.mark.parametrize(("old", "new", "message"), FIELDS)
def test_a_field_that_does_not_fit_is_named(path: Path, old: str, new: str, message: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{HEADER}\n{ENTRY}\n{ENTRY.replace(old, new)}\n")
    with pytest.raises(RecordingError) as raised:
        played(path, "none", nobody(), asking("A"))
    assert f":3: this line of the recording is not a recorded model call ({message}" in str(
        raised.value
    )


BROKEN = [
    (HEADER + "\n" + ENTRY[:40], ":2: this line of the recording is not JSON"),
    (HEADER + "\n" + ENTRY + "\n[]", ":3: this line of the recording is not a recorded model call"),
    (HEADER + '\n\n{"place": "p"}', ":3: this line of the recording is not a recorded model call"),
    (ENTRY, ":1: this line of the recording is not the header"),
    (HEADER.replace("1", "9", 1), "has format 9, newer than this njrt knows"),
    ("\x00\xff", ":1: this line"),
]


@pytest.mark.parametrize(("text", "says"), BROKEN)
def test_a_corrupt_recording_names_the_line_and_is_not_replaced(
    path: Path, text: str, says: str
) -> None:
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    is_cut = text is BROKEN[0][0]
    modes: list[RecordMode] = ["none", "once"] if is_cut else ["none", "once", "all"]
    for mode in modes:
        with pytest.raises(RecordingError) as raised:
            played(path, mode, nobody(), asking("A"))
        assert says in str(raised.value)
        assert path.read_text("utf-8") == text


@pytest.mark.parametrize("mode", ["none", "all", "once", "new"])
def test_a_device_is_no_recording(path: Path, mode: RecordMode) -> None:
    path.parent.mkdir()
    path.symlink_to("/dev/zero")
    with pytest.raises(RecordingError, match=r"jsonl: it is a device, not a file"):
        played(path, mode, Scripted(["a"]), asking("A"))
    assert path.is_char_device()


def test_an_empty_recording_counts_as_missing(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("")
    with pytest.raises(RecordingMissingError, match="there is no recording"):
        played(path, "none", nobody(), asking("A"))
    played(path, "once", Scripted(["a"]), asking("A"))
    assert played(path, "none", nobody(), asking("A"))[0].message.text == "a"


def test_a_folder_that_cannot_be_written_to_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"cannot write the recording .*choose a folder"):
        played(tmp_path / "file" / "mail.jsonl", "once", Scripted(["a"]), asking("A"))


def test_the_recording_says_in_which_protocol_it_was_made(path: Path) -> None:
    assert Recorder(path, "once").protocol is None
    played(path, "once", Scripted(["a"]), Request("s", (UserMessage("A"),)))
    assert Recorder(path, "none").protocol == "text"
    assert Recorder(path, "all").protocol is None
    with pytest.raises(RecordingMissingError):
        _ = Recorder(path.with_name("missing.jsonl"), "none").protocol


def test_while_it_is_made_a_recording_has_no_say_in_the_protocol(path: Path) -> None:
    with Recorder(path, "once") as recorder:
        model = LayeredModel(Scripted(["a"]), (recorder,))
        assert recorder.protocol is None
        model.ask(Request("s", (UserMessage("A"),)))
        assert path.exists()
        assert recorder.protocol is None


def conversation_of(number: int) -> list[Request]:
    opening, said = f"Block {number}", ModelMessage(f"look {number}")
    return [asking(opening), asking(opening, said, UserMessage(f"seen {number}"), turn=2)]


def answer(request: Request) -> str:
    opening = request.messages[0]
    assert isinstance(opening, UserMessage)
    return f"look {opening.text.split()[1]}" if request.turn == 1 else f"done {opening.text}"


def test_threads_share_a_recorder(path: Path) -> None:
    def work(number: int) -> None:
        for request in conversation_of(number):
            model.ask(request)

    with Recorder(path, "once") as recorder:
        model = LayeredModel(Scripted(answer), (recorder,))
        run_threads(*(partial(work, number) for number in range(16)))
    assert len(path.read_text().splitlines()) == 1 + 32
    for number in range(16):
        played(path, "none", nobody(), *conversation_of(number))


PROCESS = """
import sys
from njrt.messages import Request, UserMessage
from njrt.models.model import LayeredModel
from njrt.testing import Scripted
from njrt.log.recorder import Recorder
model = LayeredModel(Scripted(lambda request: "text"), (Recorder(sys.argv[1], "new"),))
for number in range(10):
    model.ask(Request("s", (UserMessage(f"{sys.argv[2]} {number}"),)))
"""


def test_processes_that_record_at_once_lose_nothing(path: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", PROCESS, path, str(number)]) for number in range(4)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0, 0]
    requests = [
        Request("s", (UserMessage(f"{child} {number}"),))
        for child in range(4)
        for number in range(10)
    ]
    assert len(played(path, "none", nobody(), *requests)) == 40
    assert list(path.parent.iterdir()) == [path]


FORKED = """
import os, sys, threading, time
from njrt.messages import Request, UserMessage
from njrt.models.model import LayeredModel
from njrt.testing import Scripted
from njrt.log.recorder import Recorder
from njrt.data.private_files import lock_folder

recorder = Recorder(sys.argv[1], "new")
model = LayeredModel(Scripted(lambda request: "text"), (recorder,))

def ask(text):
    model.ask(Request("s", (UserMessage(text),)))

def fork(*texts):
    if not (child := os.fork()):
        for text in texts:
            ask(text)
        os._exit(0)
    return child

for number in range(10):
    ask(f"parent {number}")
children = [fork(*(f"{child} {number}" for number in range(10))) for child in "ab"]
for number in range(10):
    with lock_folder(recorder.path.parent):
        saving = threading.Thread(target=ask, args=(f"thread {number}",))
        saving.start()
        while recorder._lock.acquire(blocking=False):
            recorder._lock.release()
            time.sleep(0.001)
        children.append(fork(f"beside the thread {number}"))
    saving.join()
statuses = [os.waitpid(child, 0)[1] for child in children]
os._exit(any(statuses))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_every_reply_is_written_when_it_comes_also_in_forked_processes(path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, path], check=True, timeout=60)
    names = ("parent", "a", "b", "thread", "beside the thread")
    texts = [f"{who} {number}" for who in names for number in range(10)]
    requests = [Request("s", (UserMessage(text),)) for text in texts]
    assert len(played(path, "none", nobody(), *requests)) == len(path.read_text().splitlines()) - 1


def test_an_unfinished_recording_may_end_within_a_reply(path: Path) -> None:
    path.parent.mkdir()
    header = HEADER.replace("}", ', "unfinished": true}')
    path.write_text(f"{header}\n{ENTRY}\n{ENTRY[:40]}", "utf-8")
    assert len(read_recording(RecordingFile(path)).entries) == 1


texts = st.text(st.characters())
jsons = st.recursive(
    st.none() | st.integers() | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)
calls = st.builds(
    lambda id, name, arguments: ToolCall(id, name, arguments, json.dumps(arguments)),
    texts,
    texts,
    st.dictionaries(texts | st.just("code"), jsons),
) | st.builds(lambda raw: ToolCall("1", "run", None, raw), texts)
replies = st.builds(
    Reply,
    st.builds(ModelMessage, texts, st.lists(calls).map(tuple)),
    st.sampled_from(["end", "length", "refusal"]),
    st.builds(Usage, st.integers(0), st.integers(0), st.integers(0), st.none() | st.floats(0, 100)),
    texts,
)


@given(replies)
def test_any_reply_comes_back_as_it_was(reply: Reply) -> None:
    back = reply_from_json(json.loads(json.dumps(reply_to_json(reply))), reply.model)
    assert (back.message.text, back.stop, back.usage, back.model) == (
        reply.message.text,
        reply.stop,
        reply.usage,
        reply.model,
    )
    assert [(c.id, c.name, c.arguments) for c in back.message.calls] == [
        (c.id, c.name, c.arguments) for c in reply.message.calls
    ]


def test_a_recorded_attempt_needs_its_model_and_its_end_only(path: Path) -> None:
    played(path, "all", Scripted([run("n = 1")]), asking("Count."))
    text = path.read_text()
    old = text.replace(
        '"reply": {', '"reply": {"attempts": [{"model": "big", "outcome": "TimeoutError"}], ', 1
    )
    assert old != text, "the line has the reply"
    path.write_text(old)
    (reply,) = played(path, "none", nobody(), asking("Count."))
    assert reply.message.calls[0].arguments == {"code": "n = 1", "done": False}
