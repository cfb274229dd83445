"""Walks, forward and back, over the examples and the programs of spsbench; nothing may differ.

A step that is reached again must have the same variables, as the stopped program itself shows them, and the
controller, which compares the digest of every step that is repeated, must find no divergence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from waiting_controller import WaitingController

from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.happenings import Diverged, ProgramEnded, RunSettings, Stopped
from spsbench.suite import TASK_NAMES

ROOT = Path(__file__).parents[3]
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
    "back to": lambda controller, where: controller.go_back_to(int(where * controller.position)),
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


def walk(settings: RunSettings, moves: Iterator[Move], stops: int = 10_000) -> WalkResult:
    """Run to the end, then walk until the program has stopped so often, or no moves are left."""
    seen: dict[int, object] = {}
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
                here = (step.kind, step.run, str(controller.variables()))
                before = seen.setdefault(step.number, here)
                if before != here:
                    differences.append(f"{step.number}: {before} is now {here}")
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
