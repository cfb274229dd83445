"""Random walks, forward and back, over the examples and the programs of spsbench; nothing may differ.

    python tests/timeline/walking.py --steps 10000

    mailbox                   400 stops   12 positions   0 differences
    ...
    10,000 stops in 30 programs: all states and digests were equal, 412 s

A step that is reached again must have the same variables, as the stopped program itself shows them, and the
controller, which compares the digest of every step that is repeated, must find no divergence.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from njc.timeline.controller import RunControlError, RunController
from njc.timeline.happenings import Diverged, ProgramEnded, RunSettings, Stopped
from njc.timeline.steps import Position
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[2]
EXAMPLES = ("citations", "mailbox", "order", "rules", "tickets")
EFFECT_SETS = ("direct", "nightjar", "shared-eval", "answer")
SECONDS = 120.0

MOVES: dict[str, Callable[[RunController, float], None]] = {
    "into": lambda controller, where: controller.step_into(),
    "over": lambda controller, where: controller.step_over(),
    "out": lambda controller, where: controller.step_out(),
    "back into": lambda controller, where: controller.step_back_into(),
    "back over": lambda controller, where: controller.step_back_over(),
    "back out": lambda controller, where: controller.step_back_out(),
    "to": lambda controller, where: controller.run_to(
        Position(int(where * len(controller.timeline)))
    ),
}
"""What a walk may do; a place in the timeline is given as a share of it."""

Move = tuple[str, float]


@dataclass(frozen=True)
class WalkResult:
    """How many stops a walk made, at how many positions, and what was not as before."""

    stops: int
    positions: int
    differences: tuple[str, ...]


def list_programs() -> dict[str, RunSettings]:
    """The programs, by name: the examples on their recordings, the others on perfect models."""
    examples = {
        name: RunSettings(
            ROOT / "examples" / f"{name}.njpy",
            recording=ROOT / "examples" / "recordings" / f"{name}.jsonl",
            is_replay_only=True,
        )
        for name in EXAMPLES
    }
    program = Path(__file__).parent / "perfect_program.py"
    perfect = {
        f"{name} ({effects})": RunSettings(program, (name, effects))
        for name, effects in zip(TASK_NAMES, EFFECT_SETS * len(TASK_NAMES), strict=False)
    }
    return examples | perfect


def draw_moves(random: Random) -> Iterator[Move]:
    """Moves that go forward as often as back."""
    names = [*MOVES, "into", "into", "over"]
    while True:
        yield random.choice(names), random.random()


def walk(settings: RunSettings, moves: Iterator[Move], stops: int = 10_000) -> WalkResult:
    """Run to the end, then walk until the program has stopped so often, or no moves are left."""
    seen: dict[Position, object] = {}
    differences: list[str] = []
    made = 0
    with RunController(settings) as controller:
        controller.start(stops=False)
        while True:
            happening = controller.wait(SECONDS)
            if isinstance(happening, Diverged):
                differences.append(str(happening.divergence))
            if not isinstance(happening, Stopped | ProgramEnded):
                continue
            if isinstance(happening, Stopped):
                made += 1
                step = happening.step
                here = (step.kind, step.run, step.code_line, str(controller.variables()))
                before = seen.setdefault(step.position, here)
                if before != here:
                    differences.append(f"{step.position}: {before} is now {here}")
            elif not len(controller.timeline) or happening.code not in (0, None):
                differences.append(f"the program has ended: {happening}")
                break
            if made >= stops or differences or not move(controller, moves):
                break
    return WalkResult(made, len(seen), tuple(differences))


def move(controller: RunController, moves: Iterator[Move]) -> bool:
    """Make the next move that is possible here; whether there was one."""
    for name, where in moves:
        try:
            MOVES[name](controller, where)
        except RunControlError:  # at the beginning, or at the end
            continue
        return True
    return False


def main(arguments: Sequence[str]) -> int:
    """Walk over all programs, and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=10_000, help="stops in all programs together")
    parser.add_argument("--seed", type=int, default=1, help="of the random moves")
    flags = parser.parse_args(arguments)
    programs = list_programs()
    share, rest = divmod(flags.steps, len(programs))
    began, made, found = time.monotonic(), 0, 0
    for number, (name, settings) in enumerate(programs.items()):
        stops = share + (number < rest)
        result = walk(settings, draw_moves(Random(f"{flags.seed} {name}")), stops)
        made, found = made + result.stops, found + len(result.differences)
        count = f"{result.stops:>6,} stops {result.positions:>6,} positions"
        print(f"{name:<36}{count} {len(result.differences):>3} differences", flush=True)
        for difference in result.differences:
            print(f"    {difference}", flush=True)
    verdict = "all states and digests were equal" if not found else f"{found} differences"
    seconds = time.monotonic() - began
    print(f"{made:,} stops in {len(programs)} programs: {verdict}, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
