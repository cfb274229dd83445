"""Count the checks that pass with the static code of spsbench/static/njc.lock.

    python bench/static_checks.py            a table
    python bench/static_checks.py --write    also write the counts into spsbench/static/checks.json
    python bench/static_checks.py --check    exit 1 if that file has other counts

    program          passed  of
    battle                3   3

No model is asked. A live block runs the task's scripted code; a question of the static code gets the next
scripted answer of the task, as the manual program would. So code that asks other questions than the manual
program fails here, though a model might answer them; code that is wrong without asking anything fails anywhere.
Each program runs in a separate process, with limits of time and memory.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import njrt
from njc.static.lock import StaticLock, read_lock
from njrt.block.session.question import QUESTION_SYSTEM_PROMPT
from njrt.messages import ModelMessage, Request, ToolCall
from njrt.testing import Scripted, run
from spsbench.perfect import make_perfect_model
from spsbench.script import CaseScript
from spsbench.suite import (
    TASK_NAMES,
    load_natural_program,
    load_script,
    load_task,
    make_program_module,
)
from spsbench.task import Case, check_case
from spsbench.worker import Worker, make_clean_environment, open_channel

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "spsbench" / "static" / "njc.lock"
COUNTS = LOCK.with_name("checks.json")
COMPILED = ROOT / "compiled_out" / "spsbench_static"
SECONDS = 30.0
MEMORY_BYTES = 2 << 30
LIMITS: dict[str, Any] = {"max_calls": 3, "max_seconds": 20.0, "policy": "guarded"}
IS_CHILD = "STATIC_CHECKS_CHILD"


def main() -> None:
    """Count the checks of each program; print, write or compare the counts."""
    counts = {name: measure(name) for name in list_static_programs(read_lock(LOCK))}
    print(f"{'program':22} passed  of")
    for name, (passed, total) in counts.items():
        print(f"{name:22} {passed:6} {total:3}")
    lines = ",\n".join(f'"{name}": [{passed}, {of}]' for name, (passed, of) in counts.items())
    text = f"{{\n{lines}\n}}\n"
    if "--write" in sys.argv:
        COUNTS.write_text(text, encoding="utf-8")
    elif "--check" in sys.argv and COUNTS.read_text(encoding="utf-8") != text:
        sys.exit(f"{COUNTS} has other counts; run `python bench/static_checks.py --write`")


def get_program(entry_name: str) -> str:
    """Return the program of an entry of the lock."""
    return entry_name.partition("/")[0]


def list_static_programs(lock: StaticLock) -> list[str]:
    """Return the programs that have static code."""
    found = {get_program(entry.name) for entry in lock.entries.values()}
    return [name for name in TASK_NAMES if name in found]


def measure(name: str) -> tuple[int, int]:
    """Play the compiled program in a separate process; a case that does not end has failed."""
    total = sum(len(case.checks) for case in load_task(name).cases)
    environment = make_clean_environment()
    environment[IS_CHILD] = "yes"
    environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parent}"
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker("static_checks", Path(folder), environment) as worker,
    ):
        worker.send({"program": name})
        passed = 0
        try:
            while (message := worker.receive(SECONDS)) is not None:
                passed += message["passed"]
        except TimeoutError:
            pass
    return passed, total


def play() -> None:
    """Play, in the child process, each case of a program, and send how many of its checks passed."""
    channel = open_channel(MEMORY_BYTES)
    name = channel.receive()["program"]
    script = load_script(name).lines
    natural = load_natural_program(name)
    path = COMPILED / name / "natural.py"
    program = make_program_module(f"spsbench.programs.{name}.static", path.read_bytes(), str(path))
    for case in load_task(name).cases:
        lines = script[case.name]
        pieces = find_pieces(case, lines, natural)
        with njrt.using(model=answer_questions(lines, pieces), cache=False, **LIMITS):
            results = check_case(case, program)
        channel.send({"passed": sum(result.passed for result in results)})


def find_pieces(case: Case, lines: CaseScript, natural: ModuleType) -> dict[str, Iterator[str]]:
    """Return the scripted code of each block by its place, from a play with all blocks live."""
    perfect = make_perfect_model(lines)
    places: list[str] = []

    def reply(request: Request) -> ModelMessage:
        places.append(request.place)
        return perfect.ask(request).message

    with njrt.using(model=Scripted(reply), cache=False, **LIMITS):
        check_case(case, natural)
    pieces: defaultdict[str, list[str]] = defaultdict(list)
    for place, code in zip(places, lines.code, strict=False):
        pieces[place].append(code)
    return {place: iter(codes) for place, codes in pieces.items()}


def answer_questions(lines: CaseScript, pieces: dict[str, Iterator[str]]) -> Scripted:
    """Return a model with the scripted answers to questions and the scripted code of live blocks."""
    answers = iter(lines.answers)

    def reply(request: Request) -> str | ToolCall:
        if not request.system.startswith(QUESTION_SYSTEM_PROMPT):
            return run(next(pieces[request.place]), done=True)
        answer = next(answers, "(there are no more answers)")
        return answer if isinstance(answer, str) else json.dumps(answer)

    return Scripted(reply)


if __name__ == "__main__":
    play() if IS_CHILD in os.environ else main()
