"""Measure how long it takes to go back one step, after 1,000 effects.

    forward, 1,000 effects               7.3 s       4.9 ms a step, 1,500 steps
    back over one step                p50    24 ms  p95    61 ms  of 100 steps from the end, at most 100 ms
    to a random step                  p50    19 ms  p95    33 ms  of 40 jumps
    back without checkpoints          p50  4385 ms  p95  4515 ms  by replay in a fresh process

(Measured with Python 3.11 on two cores, with a load of 1.05 before and 1.35 after.) The
program is 250 blocks of 4 effects on a recording. Checkpoints are made where they are safe
(njc/runs/timeline/checkpoints.py); otherwise going back takes as long as the last line.
"""

from __future__ import annotations

import queue
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import njrt
from njc.project.build import load_code
from njc.project.config import Project
from njc.runs.timeline.happenings import Happening, ProgramEnded, RunSettings, Stopped
from njc.runs.timeline.run_controller import RunController
from njc.runs.timeline.steps import Position
from njrt.models.scripted import Scripted, run

BLOCKS, EFFECTS = 250, 4
PROGRAM = f'''
totals = []
for number in range({BLOCKS}):
    items = list(range(number))
    """natural
    Put the sum of <items> into <:total>, in four parts.
    """
    totals.append(total)
'''


def make_recording(program: Path, recording: Path) -> None:
    """Run the program on scripted replies, and record them."""
    parts = [run(f"part{number} = sum(items[{number}::4])") for number in range(EFFECTS - 1)]
    replies = [*parts, run("total = part0 + part1 + part2 + sum(items[3::4])", done=True)]
    code, _ = load_code(program, program.read_bytes(), Project())
    with njrt.using(model=Scripted(replies * BLOCKS), record=recording, mode="all"):
        exec(code, {"__name__": "__main__"})


def measure(action: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def show(name: str, seconds: Sequence[float], note: str) -> None:
    """Print median and 95th percentile."""
    p50, p95 = statistics.median(seconds), sorted(seconds)[int(len(seconds) * 0.95)]
    print(f"{name:<33} p50 {p50 * 1e3:5.0f} ms  p95 {p95 * 1e3:5.0f} ms  {note}")


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory() as folder:
        program, recording = Path(folder) / "sums.njpy", Path(folder) / "sums.jsonl"
        program.write_text(PROGRAM)
        make_recording(program, recording)
        settings = RunSettings(program, recording=recording, is_replay_only=True)
        with closing(RunController(settings, EVENTS.put)) as controller:
            controller.start(stops=False)
            seconds = measure(run_to_end)
            steps = len(controller.timeline)
            note = f"{seconds * 1e3 / steps:.1f} ms a step, {steps:,} steps"
            print(f"forward, {BLOCKS * EFFECTS:,} effects            {seconds:6.1f} s       {note}")
            times = [measure(lambda: go_back(controller)) for _ in range(100)]
            show("back over one step", times, "of 100 steps from the end, at most 100 ms")
            numbers = [random.Random(1).randrange(steps) for _ in range(40)]
            targets = map(Position, numbers)
            jumps = [measure(lambda to=to: go_to(controller, to)) for to in targets]  # type: ignore[misc]
            show("to a random step", jumps, f"of {len(jumps)} jumps")
        plain = RunSettings(
            program, recording=recording, is_replay_only=True, checkpoint_interval=0
        )
        with closing(RunController(plain, EVENTS.put)) as controller:
            controller.start(stops=False)
            run_to_end()
            times = [measure(lambda: go_back(controller)) for _ in range(3)]
            show("back without checkpoints", times, "by replay in a fresh process")


EVENTS: queue.SimpleQueue[Happening] = queue.SimpleQueue()


def wait_for_stop() -> Stopped | ProgramEnded:
    """Skip events until the program is stopped or has ended."""
    while True:
        if isinstance(event := EVENTS.get(timeout=300), Stopped | ProgramEnded):
            return event


def run_to_end() -> None:
    """Wait for the end of the program."""
    assert wait_for_stop() == ProgramEnded(0)


def go_back(controller: RunController) -> None:
    """Go back one step."""
    controller.step_back_over()
    assert isinstance(wait_for_stop(), Stopped)


def go_to(controller: RunController, position: Position) -> None:
    """Go to a step, back or forward."""
    controller.run_to(position)
    stopped = wait_for_stop()
    assert isinstance(stopped, Stopped)
    assert stopped.step.position == position


if __name__ == "__main__":
    main()
