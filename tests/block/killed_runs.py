"""Programs under approval that are killed at every event, and taken up again by the next process.

    python tests/block/killed_runs.py mailbox tickets          examples

    mailbox             37 kills   12 questions   12 replies   as in one go

A program runs on the replies of its recording, with `njrt.approve` on a terminal where somebody
always says yes, and a recording. Each process ends itself with SIGKILL at the first event at which no
process before it was killed: while the model answers, while the person decides, after the effect was
carried out. The last one comes to the end. It must print what the program does in one go; no question
is answered twice, and no reply is asked for again that had come.

A process is a copy of this one, which has loaded the program but not run it.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import njrt
from njc.project.config import Project
from njc.static.load import load_code
from njrt.data.message_json import hash_conversation, reply_from_json
from njrt.data.records import record
from njrt.effects import Refusal
from njrt.events import Event, Performed
from njrt.guests.approval.terminal import Approval, Terminal
from njrt.log.listeners import add_listener
from njrt.log.recording_file import Recording, RecordingHeader, read_recording
from njrt.log.recording_place import RecordingFile
from njrt.testing import Protocol, Reply, Request, run

ROOT = Path(__file__).parents[2]
MAX_PROCESSES = 500


@dataclass(frozen=True)
class Example:
    """An example, and the recording of its replies."""

    name: str
    code: CodeType
    recording: Path


def load_example(name: str) -> Example:
    file = ROOT / "examples" / f"{name}.njpy"
    code, _ = load_code(file, file.read_bytes(), Project())
    return Example(name, code, file.parent / "recordings" / f"{name}.jsonl")


class RecordedReplies:
    """A model that gives the replies of a recording, from where another one ends (state: those given)."""

    name = "recorded replies"

    def __init__(self, replies: Recording, given: Recording, tell: Callable[[str], None]) -> None:
        self.protocol: Protocol = replies.header.protocol
        self._replies = replies
        self._given = Counter(entry.key for entry in given.entries)
        self._tell = tell

    def ask(self, request: Request) -> Reply:
        key = hash_conversation(request.messages)
        entries = [entry for entry in self._replies.entries if entry.key == key]
        number = self._given[key]
        self._tell(f"model {key[:12]} {number}")
        self._given[key] += 1
        return reply_from_json(entries[number].reply, entries[number].model)

    async def aask(self, request: Request) -> Reply:
        return self.ask(request)


@record
class AgreeingTerminal(Terminal):
    """Somebody who always says yes."""

    tell: Callable[[str], None]

    def is_interactive(self) -> bool:
        return True

    def ask(self, prompt: str) -> str:
        self.tell("question")
        return "y"

    def write(self, text: str) -> None:
        pass

    def show_code(self, code: str, language: str) -> None:
        pass


class Journal:
    """What the processes have done (state: a file, and what happened in this process)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = path.read_text().splitlines() if path.exists() else []

    def write(self, line: str) -> None:
        self._lines.append(line)
        with self._path.open("a") as file:
            file.write(line + "\n")

    def tell(self, what: str) -> None:
        """An event: the process ends if it is the first one of its kind and number."""
        number = sum(line.startswith(f"done {what}") for line in self._lines)
        event = f"{what} {number}"
        if f"killed at {event}" not in self._lines:
            self.write(f"killed at {event}")
            os.kill(os.getpid(), signal.SIGKILL)
        self.write(f"done {event}")


def run_once(program: Example, folder: Path) -> None:
    """One process: run the program until it is killed, or to its end, which is written to `end.json`."""
    journal, path = Journal(folder / "journal"), folder / "run.jsonl"
    replies = read_recording(RecordingFile(program.recording))
    given = (
        read_recording(RecordingFile(path)) if path.exists() else Recording(RecordingHeader(), ())
    )
    answered = sum(not decided.is_open for decided in given.decisions)

    def tell_effect(event: Event) -> None:
        nonlocal answered
        if isinstance(event, Performed) and not isinstance(event.effect, Refusal):
            answered -= 1
            if answered < 0:  # else it was decided by a process before this one
                journal.tell("effect")

    add_listener(tell_effect)
    terminal = AgreeingTerminal(journal.tell)
    approval = Approval(terminal)
    model = RecordedReplies(replies, given, journal.tell)
    with njrt.using(intercept=approval, model=model, record=f"new:{path}"):
        end = run_in_one_go(program)
    (folder / "end.json").write_text(json.dumps(end))


def run_in_one_go(program: Example) -> str:
    """Return what the program prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(program.code, {"__name__": "__main__"})
    return printed.getvalue()


def write_whole(program: Example, folder: Path) -> None:
    """Run the program in one go, and write its end."""
    with njrt.using(record=f"none:{program.recording}"):
        (folder / "whole.json").write_text(json.dumps(run_in_one_go(program)))


def run_copy(act: Callable[[], None]) -> int:
    """Return the exit code of a copy of this process that does something."""
    pid = os.fork()
    if not pid:
        try:
            act()
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            code = 1
        sys.stderr.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_everywhere(program: Example) -> tuple[str, list[str]]:
    """Run a program in processes that are killed; what was done, and what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if run_copy(lambda: write_whole(program, folder)):
            return "", ["it does not run in one go"]
        for _ in range(MAX_PROCESSES):
            code = run_copy(lambda: run_once(program, folder))
            if code != -signal.SIGKILL:
                break
        journal = folder / "journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        problems = []
        if code:
            return "", [f"a process ended with {code}"]
        if (folder / "end.json").read_text() != (folder / "whole.json").read_text():
            problems.append("the end is not what it is in one go")
        done = [line.removeprefix("done ") for line in lines if line.startswith("done ")]
        questions = [line for line in done if line.startswith("question")]
        replies = [line.rpartition(" ")[0] for line in done if line.startswith("model")]
        problems += [f"{line} was asked for twice" for line, n in Counter(replies).items() if n > 1]
        decided = read_recording(RecordingFile(folder / "run.jsonl")).decisions
        if len(questions) != len(decided):
            problems.append(f"{len(questions)} answers to {len(decided)} questions")
        kills = sum(line.startswith("killed") for line in lines)
    return f"{kills:>5} kills {len(decided):>5} questions {len(replies):>5} replies", problems


def load_modules() -> None:
    """Import what blocks import when they run, so that not every copy does it."""
    with tempfile.TemporaryDirectory() as folder:
        approval = Approval(AgreeingTerminal(len))
        model = njrt.Scripted([run("y = x", done=True)])
        with njrt.using(intercept=approval, model=model, record=Path(folder, "run.jsonl")):
            x = y = 1
            njrt.run("natural\n<x> <:y>", lambda: (x, y), writes="y", at="a:1", effects="direct")


def main(names: Sequence[str]) -> int:
    """Print a line for each program."""
    load_modules()
    found = 0
    for program in map(load_example, names):
        done, problems = kill_everywhere(program)
        found += len(problems)
        print(f"{program.name:<20}{done}   {'; '.join(problems) or 'as in one go'}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
