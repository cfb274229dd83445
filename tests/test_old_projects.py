"""Files that 0.2 wrote (tests/cases/from_0_2): its lock, traces and recordings are read, its compiled files run."""

import asyncio
import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import njrt
from njc.commands import njc
from njc.static.lock import read_lock
from njrt.messages import Request
from njrt.models.scripted import call
from njrt.persistence.recording_file import read_recording
from njrt.persistence.recording_place import RecordingFile

OLD = Path(__file__).parent / "cases" / "from_0_2"

ANSWERS: dict[str, Any] = {
    "Put into <:team": {"team": "sales"},
    "Put into <:ok": {"ok": True},
    "Add the numbers": "```python\ntotal += sum(n for order in orders for n in order.values())\n```",
    "Break if <order>": "```python\nif not order:\n    break\nprice = order['tea']\n```",
    "Put into <:shout": "```python\ndef shout(word):\n    return text.upper() + word.upper()\n```",
    "From <size>": {"label": "desk", "__secret": "kept"},
    "Put a greeting": {"greeting": "Hello"},
    "Append <word>": "```python\nself.__notes.append(word)\n```",
    "Put <text> in": {"big": "BIG"},
    "Call <pay>": "```python\nfor amount in amounts:\n    receipts.append(pay(amount))\n```",
    "Halve <x>": {"y": 7},
}


def answer(request: Request) -> Any:
    task = request.messages[0].text
    return next(reply for start, reply in ANSWERS.items() if task.startswith(start))


@pytest.fixture
def old_modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the compiled files importable, without writing bytecode beside them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(OLD)
    yield
    for name in ("shop", "double", "gated_shop"):
        sys.modules.pop(name, None)


def load(name: str, **options: Any) -> ModuleType:
    sys.modules.pop(name, None)
    with njrt.using(model=njrt.Scripted(answer, protocol="text"), **options):
        return importlib.import_module(name)


@pytest.mark.usefixtures("old_modules")
def test_a_compiled_program_runs() -> None:
    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        shop = load("shop")
        assert shop.greeting == "Hello"
        assert shop.sort("Buy") == "sales"
        assert shop.cheap(2.0) is True
        assert shop.serve([{"tea": 3}, {"tea": 4}, {}]) == 14
        assert shop.write("a")("b") == "AB"
        assert (shop.Desk.label, shop.Desk().secret()) == ("desk", "kept")
        assert shop.Desk().note("x") == ["x"]
        assert asyncio.run(shop.later("big")) == "BIG"
        gated = load("gated_shop")
        with njrt.using(intercept=lambda _: njrt.Accept()):
            assert gated.settle([1, 2]) == ["paid 1", "paid 2"]


@pytest.mark.usefixtures("old_modules")
def test_a_compiled_interface_runs() -> None:
    shop = load("shop")
    with njrt.using(model=njrt.Scripted(lambda _: call("leave"))):
        assert shop.talk(["a", "b"]) == 0


@pytest.mark.usefixtures("old_modules")
def test_compiled_code_of_models_runs() -> None:
    double = load("double")
    assert double.double(4) == 2  # the model's mistake, as it was locked
    with njrt.using(model=njrt.Scripted(answer, protocol="text")):
        assert double.half(4) == 2
        assert double.half(None) == 7  # the code does not fit, so the block runs live
        assert double.sort("Buy") == "sales"


@pytest.mark.parametrize("path", sorted((OLD / "recordings").iterdir()), ids=lambda path: path.stem)
def test_a_recording_is_read(path: Path) -> None:
    recording = read_recording(RecordingFile(path))
    held = {"decisions": {"decisions"}, "paused": {"decisions"}, "calls": {"decisions", "touches"}}
    assert recording.entries
    assert recording.header.unfinished == (path.stem == "paused")
    found = {name for name in ("decisions", "touches") if getattr(recording, name)}
    assert found == held.get(path.stem, set())


def test_a_lock_is_read() -> None:
    lock = read_lock(OLD / "njc.lock")
    assert {mode for _, mode in lock.entries} == {"static", "static-raw", "auto", "auto-learned"}
    assert set(lock.servers) == {"files"}


def test_a_trace_is_read(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (OLD / "trace.jsonl").read_text().splitlines()]
    kinds = {line["event"] for line in lines}
    assert kinds == {"began", "asked", "replied", "unanswered", "performed", "compared", "ended"}
    trace = shutil.copy(OLD / "trace.jsonl", tmp_path)
    shown = CliRunner().invoke(njc, ["trace", trace])
    assert shown.exit_code == 0, shown.output
    assert "shop.njpy:77" in shown.output
    html = tmp_path / "trace.html"
    paged = CliRunner().invoke(njc, ["trace", trace, "--html", str(html)])
    assert paged.exit_code == 0, paged.output
    assert "</html>" in html.read_text()
