"""Random walks, forward and back, over the examples and the programs of spsbench; nothing may differ.

    python tests/timeline/walking.py --steps 10000 --jobs 2 --results build/walk.jsonl

    mailbox                   400 stops   12 positions   0 differences
    ...
    10,000 stops in 30 programs: all states and digests were equal, 412 s

A step that is reached again must have the same variables, as the stopped program itself shows them, and the
controller, which compares the digest of every step that is repeated, must find no divergence.

With `--results` the walks that are finished are kept in a file, so that the same command goes on with the others; the
file is removed when all are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from random import Random

from waiting_controller import WaitingController

from njc.runs.timeline.channel import RunControlError
from njc.runs.timeline.happenings import (
    Diverged,
    ProgramEnded,
    RunSettings,
    Stopped,
)
from njc.runs.timeline.steps import Position
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[2]
EXAMPLES = ("citations", "mailbox", "order", "rules", "tickets")
EFFECT_SETS = ("direct", "nightjar", "shared-eval", "answer")
NO_ANSWERS = ("get_enemy",)
"""The programs with outputs that JSON does not carry."""
SECONDS = 120.0

MOVES: dict[str, Callable[[WaitingController, float], None]] = {
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
    """Return the programs, by name: the examples on their recordings, the others on perfect models."""
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
        for name, effects in choose_effects().items()
    }
    return examples | perfect


def choose_effects() -> dict[str, str]:
    """Return the programs of spsbench, each with an effect set."""
    chosen = zip(TASK_NAMES, EFFECT_SETS * len(TASK_NAMES), strict=False)
    return {name: "direct" if name in NO_ANSWERS else effects for name, effects in chosen}


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
    with WaitingController(settings) as controller:
        controller.start(stops=False)
        while True:
            happening = controller.wait(SECONDS)
            if isinstance(happening, Diverged):
                differences.append(str(happening))
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


def move(controller: WaitingController, moves: Iterator[Move]) -> bool:
    """Make the next move that is possible here; whether there was one."""
    for name, where in moves:
        try:
            MOVES[name](controller, where)
        except RunControlError:  # at the beginning, or at the end
            continue
        return True
    return False


@dataclass(frozen=True)
class Walk:
    """One walk: the program, and how many stops."""

    name: str
    seed: int
    stops: int

    def make(self) -> WalkResult:
        """Walk."""
        moves = draw_moves(Random(f"{self.seed} {self.name}"))
        return walk(list_programs()[self.name], moves, self.stops)


class Results:
    """The walks that are finished (state: a file, if there is a path)."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[Walk, WalkResult] = {}
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            walk, result = json.loads(line)
            self._known[Walk(*walk)] = WalkResult(*result[:2], tuple(result[2]))

    def get(self, walk: Walk) -> WalkResult:
        """Return the result of a walk, which is made if it is not known."""
        if walk not in self._known:
            self._known[walk] = result = walk.make()
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a") as file:
                    file.write(json.dumps([astuple(walk), astuple(result)]) + "\n")
        return self._known[walk]

    def remove(self) -> None:
        """Begin anew."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> int:
    """Walk over all programs, and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=10_000, help="stops in all programs together")
    parser.add_argument("--seed", type=int, default=1, help="of the random moves")
    parser.add_argument("--jobs", type=int, default=1, help="walks at the same time")
    parser.add_argument("--results", type=Path, help="file of the walks that are finished")
    flags = parser.parse_args(arguments)
    programs, results = list_programs(), Results(flags.results)
    share, rest = divmod(flags.steps, len(programs))
    walks = [
        Walk(name, flags.seed, share + (number < rest)) for number, name in enumerate(programs)
    ]
    began, made, found = time.monotonic(), 0, 0
    pool = ThreadPoolExecutor(flags.jobs)
    for name, result in zip(programs, pool.map(results.get, walks), strict=True):
        made, found = made + result.stops, found + len(result.differences)
        count = f"{result.stops:>6,} stops {result.positions:>6,} positions"
        print(f"{name:<36}{count} {len(result.differences):>3} differences", flush=True)
        for difference in result.differences:
            print(f"    {difference}", flush=True)
    results.remove()
    verdict = "all states and digests were equal" if not found else f"{found} differences"
    seconds = time.monotonic() - began
    print(f"{made:,} stops in {len(programs)} programs: {verdict}, {seconds:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
