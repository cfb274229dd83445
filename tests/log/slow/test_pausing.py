"""A run that is paused or killed while an interceptor decides is continued by the next process, from its recording."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt import Abort, Accept, Decision, Edit, Pause, PendingEffect, Reject
from njrt.effects import Run
from njrt.testing import Said, run
from processes import run_python

PROGRAM = '''
"""argv: the log, then what is decided, one letter an effect."""
import os, sys
import njrt
from njrt.effects import Run
from njrt.testing import Scripted, run

log = open(sys.argv[1], "a", buffering=1)
decisions = iter(sys.argv[2])

def reply(request):
    print("model", file=log)
    if os.environ.get("KILL_IN_MODEL"):
        os.kill(os.getpid(), 9)
    if request.turn > 1:
        return run("total = total + 10", done=True)
    return run("total = total + 1", done=True)

def decide(pending):
    letter = next(decisions)
    print(letter, pending.render_variables()["total"], file=log)
    match letter:
        case "a":
            return njrt.Accept()
        case "e":
            return njrt.Edit(Run("total = total + 100", True))
        case "r":
            return njrt.Reject("more")
        case "p":
            return njrt.Pause()
        case "k":
            os.kill(os.getpid(), 9)

def add(total):
    njrt.run("""natural
    Add to <total>, giving <:total>.
    """, lambda: (total,), writes="total", at="add.njpy:1", effects="direct")
    return total

with njrt.using(model=Scripted(reply), intercept=decide, record=f"{sys.argv[4]}:{sys.argv[3]}"):
    total = 0
    for _ in range(4):
        total = add(total)
    print("total", total, file=log)
'''


class Runs:
    """The program in processes of its own, with one recording and one log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = folder / "run.jsonl"
        (folder / "program.py").write_text(PROGRAM)

    def run(self, decisions: str, mode: str = "all", **environment: str) -> tuple[int, list[str]]:
        """Run it; the exit code, and what is new in the log."""
        log = self.folder / "log"
        before = len(log.read_text()) if log.exists() else 0
        done = run_python(
            "program.py",
            "log",
            decisions,
            "run.jsonl",
            mode,
            cwd=self.folder,
            env={"PATH": "", "PYTHONPATH": ":".join(sys.path), **environment},
            timeout=60,
        )
        self.stderr = done.stderr
        return done.returncode, log.read_text()[before:].splitlines()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize("mode", ["all", "new", "once"])
def test_a_paused_run_continues_in_another_process(runs: Runs, mode: str) -> None:
    code, log = runs.run("aerp", mode)
    assert code == 1
    assert log == [
        "model", "a total: int = 0", "model", "e total: int = 1",
        "model", "r total: int = 101", "model", "p total: int = 101",
    ]  # fmt: skip
    assert "add.njpy:1: paused by the interceptor `decide`; run the program again" in runs.stderr
    assert "run.jsonl to continue" in runs.stderr

    code, log = runs.run("ap", mode)
    assert log == ["a total: int = 101", "model", "p total: int = 111"]

    code, log = runs.run("a", mode)
    assert (code, log) == (0, ["a total: int = 111", "total 112"])
    text = runs.recording.read_text()
    assert '"unfinished"' not in text
    assert text.count('{"decided": ') == 5

    code, log = runs.run("", "none")
    assert (code, log) == (0, ["total 112"])


@pytest.mark.parametrize("mode", ["all", "new", "once"])
def test_a_run_that_was_killed_while_deciding_continues(runs: Runs, mode: str) -> None:
    code, log = runs.run("aek", mode)
    assert code == -9
    assert len(log) == 6
    code, log = runs.run("aa", mode)
    assert code == 0, runs.stderr
    assert log == ["a total: int = 101", "model", "a total: int = 102", "total 103"]


def test_a_run_that_was_killed_while_the_model_answers_continues(runs: Runs) -> None:
    runs.run("ap")
    code, log = runs.run("a", KILL_IN_MODEL="1")
    assert (code, log) == (-9, ["a total: int = 1", "model"])
    code, log = runs.run("aa")
    assert (code, log[0], log[-1]) == (0, "model", "total 4")
    assert [line for line in log if line.startswith("a")] == [
        "a total: int = 2",
        "a total: int = 3",
    ]


def test_a_finished_run_is_recorded_anew_by_all(runs: Runs) -> None:
    runs.run("aaaa")
    code, log = runs.run("eeee")
    assert (code, log[-1], len(log)) == (0, "total 400", 9)


# ── in one process ───────────────────────────────────────────────────────────────────────────────


def block(extent: str = "") -> Any:
    """Return one run of a block whose conversation is the same every time."""
    y = None
    njrt.run(
        f"natural\nSet <:y>{extent}.", lambda: (y,), writes="y", at="case.njpy:1", effects="direct"
    )
    return y


class Decider:
    """An interceptor that decides as it is told, and counts."""

    def __init__(self, *decisions: Decision) -> None:
        self.left = list(decisions)
        self.asked = 0
        self.asks_again = False

    def __call__(self, pending: PendingEffect) -> Decision:
        self.asked += 1
        return self.left.pop(0)


def play(
    path: Path, script: list[Said], *decisions: Decision, mode: Any = "new", times: int = 1
) -> tuple[list[Any], Decider]:
    """Run the block some times under a recording."""
    decider = Decider(*decisions)
    with njrt.using(model=njrt.Scripted(script), record=f"{mode}:{path}", intercept=decider):
        return [block() for _ in range(times)], decider


FOUR, FIVE = run("y = 4", done=True), run("y = 5", done=True)


def test_equal_conversations_keep_their_own_decisions(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with pytest.raises(njrt.Paused):
        play(path, [FOUR, FOUR, FOUR], Accept(), Edit(Run("y = 6", True)), Pause(), times=3)
    found, decider = play(path, [FIVE], Accept(), Accept(), times=4)
    assert (found, decider.asked) == ([4, 6, 4, 5], 2)
    found, decider = play(path, [], mode="none", times=4)
    assert (found, decider.asked) == ([4, 6, 4, 5], 0)


def test_recorded_decisions_hold_without_their_interceptor(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    play(path, [FOUR, FIVE], Reject("no"), Edit(Run("y = 7", True)))
    with njrt.using(record=f"none:{path}"):
        assert block() == 7
    path = tmp_path / "aborted.jsonl"
    with pytest.raises(njrt.NaturalError, match="too much"):
        play(path, [FOUR], Abort(njrt.NaturalError("too much")))
    with njrt.using(record=f"none:{path}"), pytest.raises(njrt.PolicyError, match="too much"):
        block()


@pytest.mark.parametrize("ending", ["paused", "interrupted"])
def test_a_pending_effect_is_not_carried_out_by_a_replay(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "r.jsonl"
    if ending == "paused":
        with pytest.raises(njrt.Paused) as caught:
            play(path, [FOUR], Pause())
        assert caught.value.recording == str(path)
    else:

        def interrupt(pending: PendingEffect) -> Decision:
            raise KeyboardInterrupt

        model = njrt.Scripted([FOUR])
        with (
            pytest.raises(KeyboardInterrupt),
            njrt.using(model=model, record=path, intercept=interrupt),
        ):
            block()
    with njrt.using(record=f"none:{path}"), pytest.raises(njrt.Paused, match="ends before"):
        block()
    found, _ = play(path, [], Accept())
    assert found == [4]


def test_questions_are_continued(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    model = njrt.Scripted(["yes"], protocol="text")
    with (
        pytest.raises(njrt.Paused),
        njrt.using(model=model, record=path, intercept=Decider(Pause())),
    ):
        njrt.llm("Is it?")
    assert model.requests == []
    for decider in (Decider(Accept()), Decider()):
        with njrt.using(model=model, record=path, intercept=decider):
            assert njrt.llm("Is it?") == "yes"
    assert len(model.requests) == 1


def test_an_interceptor_that_asks_again_is_asked_in_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    play(path, [FOUR], Accept())
    policy = Decider(Abort())
    policy.asks_again = True
    with (
        njrt.using(record=f"none:{path}", intercept=policy),
        pytest.raises(njrt.PolicyError),
    ):
        block()


def test_a_pause_without_a_recording_says_so() -> None:
    with (
        njrt.using(model=njrt.Scripted([FOUR]), intercept=Decider(Pause())),
        pytest.raises(njrt.Paused, match="without a recording") as caught,
    ):
        block()
    assert caught.value.recording is None
    assert caught.value.exit_code == 75


def test_a_recording_without_interceptors_has_the_old_format(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    with njrt.using(model=njrt.Scripted([FOUR]), record=path):
        block()
    assert json.loads(path.read_text().splitlines()[0])["format"] == 1
    play(path, [FIVE], Accept())
    header = json.loads(path.read_text().splitlines()[0])
    assert (header["format"], len(path.read_text().splitlines())) == (2, 3)


def test_a_recording_that_begins_with_an_answer_is_replayed_with_tools(tmp_path: Path) -> None:
    def answer() -> Any:
        y = None
        njrt.run("natural\nSet <:y>.", lambda: (y,), writes="y", at="a:1", effects="answer")
        return y

    path = tmp_path / "run.jsonl"
    with njrt.using(model=njrt.Scripted([{"y": 3}, FOUR]), record=f"all:{path}"):
        assert (answer(), block()) == (3, 4)
    with njrt.using(record=f"none:{path}"):
        assert (answer(), block()) == (3, 4)


def test_processes_add_to_one_recording(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    one, two = njrt.Recorder(path, "new"), njrt.Recorder(path, "new")
    for recorder, extent in ((one, ""), (two, " twice"), (one, " again")):
        with njrt.using(model=njrt.Scripted([FOUR]), record=recorder, intercept=Decider(Accept())):
            block(extent)
    one.close()
    two.close()
    assert path.read_text().count('{"decided": ') == 3
    assert '"unfinished"' not in path.read_text()


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"decided": {"place": "a"}}', "decided.key"),
        ('{"decided": {"place": "a", "key": "", "number": 1, "effect": {"kind": "Fly"}, "decisions": []}}', "there is no effect 'Fly'"),
        ('{"decided": {"place": "a", "key": "", "number": 1, "effect": {"kind": {}}, "decisions": []}}', "there is no effect {}"),
        ('{"decided": {"place": "a", "key": "", "number": 1, "effect": {"kind": "BreakLoop"}, "decisions": [{"decision": "maybe"}]}}', "'maybe' is not a decision"),
        ('{"decided": ', "not JSON"),
    ],
)  # fmt: skip
def test_a_damaged_decision_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "r.jsonl"
    play(path, [FOUR], Accept())
    with path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(njrt.RecordingError, match=f"r.jsonl:4: .*{problem}"):
        play(path, [], mode="none")
