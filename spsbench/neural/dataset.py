"""A data set of trajectories: made from a seed, divided by program, read back as it was written.

    write_dataset(Path("data"), seed=1, programs=20_000)     train.jsonl, valid.jsonl, test.jsonl, card.md

The programs are generated, and run in this process. A program occurs once, and so does a step with the same stack, action
and result. The digest of a program's text chooses its part, for every seed: two data sets never have the same program
in different parts. Other programs, such as CruxEval's, are files beside these, and are not for training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random

from njrt.private_files import replacing
from spsbench.journal import naming
from spsbench.neural.programs import write_program
from spsbench.report.results_report import render_template
from spsbench.states.actions import ACTIONS, TakenStep, list_taken_steps
from spsbench.states.programs import record_call
from spsbench.states.trace import StackState, StateTrace, list_stacks
from spsbench.states.trajectories import Trajectory, read_trajectory_lines, write_trajectory_lines

PARTS: Mapping[str, float] = {"train": 0.96, "valid": 0.02, "test": 0.02}
STATES_PER_PROGRAM = 6
"""How many states of a program have their steps in the data."""
MAX_STATES = 300


def choose_part(source: str) -> str:
    """Return the part of the data that a program belongs to."""
    place = int(sha256(source.encode()).hexdigest()[:8], 16) / 16**8
    for name, share in PARTS.items():
        place -= share
        if place < 0:
            return name
    return "test"


def generate_trajectories(seed: int, programs: int) -> Iterator[Trajectory]:
    """Yield the trajectories of different programs; a larger number has them too, first."""
    seen: set[str] = set()
    for number in range(programs):
        random = Random(f"{seed} {number}")
        program = write_program(random)
        if program.source in seen:
            continue
        seen.add(program.source)
        trace = record_call(program.source, program.call, max_states=MAX_STATES).trace
        yield sample_trajectory(trace, random)


def sample_trajectory(
    trace: StateTrace, random: Random, states: int = STATES_PER_PROGRAM
) -> Trajectory:
    """Return a trajectory with all actions of some states, each with one breakpoint."""
    size = min(len(trace.states), states)
    chosen = sorted(random.sample(range(len(trace.states)), size))
    taken = list_taken_steps(trace.states, is_cut=trace.is_cut)
    steps: list[TakenStep] = []
    for index in chosen:
        here = [step for step in taken if step.index == index]
        stops = [step for step in here if step.action == "breakpoint"]
        steps += [step for step in here if step.action != "breakpoint"]
        steps += random.sample(stops, min(len(stops), 1))
    return Trajectory(trace, tuple(drop_repeated_steps(trace, steps)))


def sample_whole_trajectory(trace: StateTrace) -> Trajectory:
    """Return a trajectory of a program that was not generated; the same for the same program."""
    return sample_trajectory(trace, Random(trace.source))


def drop_repeated_steps(trace: StateTrace, steps: Iterable[TakenStep]) -> list[TakenStep]:
    """Return the steps; of several with the same stack, action and result the first."""
    stacks = list_stacks(trace.states)
    kept: dict[object, TakenStep] = {}
    for step in steps:
        before, after = find_ends(stacks, step)
        kept.setdefault((_get_key(before), step.action, step.line, _get_key(after)), step)
    return list(kept.values())


def find_ends(
    stacks: Sequence[StackState], step: TakenStep
) -> tuple[StackState, StackState | None]:
    """Return the stacks before and after a step."""
    return stacks[step.index], None if step.target is None else stacks[step.target]


def _get_key(state: StackState | None) -> object:
    if state is None:
        return None
    frames = [(frame.line, tuple(frame.locals.items())) for frame in state.frames]
    return state.event, tuple(frames), state.value


def write_dataset(
    folder: Path, seed: int, programs: int, others: Mapping[str, Iterable[Trajectory]]
) -> dict[str, int]:
    """Write the data of a seed, other trajectories by name, and the card; returns the programs of each file."""
    read = {name: list(found) for name, found in others.items()}
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[Trajectory]] = {name: [] for name in PARTS}
    for trajectory in generate_trajectories(seed, programs):
        parts[choose_part(trajectory.trace.source)].append(trajectory)
    files = parts | read
    for name, found in files.items():
        text = "".join(write_trajectory_lines(found))
        replace_file(folder / f"{name}.jsonl", text.encode())
    replace_file(folder / "card.md", render_card(seed, programs, files).encode())
    return {name: len(found) for name, found in files.items()}


def read_part(folder: Path, name: str) -> Iterator[Trajectory]:
    """Yield the trajectories of a part."""
    path = folder / f"{name}.jsonl"
    with naming(path), path.open(encoding="utf-8", errors="replace") as lines:
        yield from read_trajectory_lines(lines)


def render_card(seed: int, programs: int, files: Mapping[str, Sequence[Trajectory]]) -> str:
    """Return the data card in Markdown."""
    counts = {name: count_steps(found) for name, found in files.items()}
    return render_template(
        "spsbench.neural", "card.md", seed=seed, programs=programs, counts=counts, actions=ACTIONS
    )


def count_steps(found: Sequence[Trajectory]) -> tuple[str, ...]:
    """Return the numbers of a part: programs, states, steps, steps backward, steps inside of calls, deepest call."""
    total: Counter[str] = Counter()
    deepest = 0
    for trajectory in found:
        states = trajectory.trace.states
        total["states"] += len(states)
        total["steps"] += len(trajectory.steps)
        total["inverse"] += sum(step.action.startswith("inv_") for step in trajectory.steps)
        total["inner"] += sum(states[step.index].depth > 0 for step in trajectory.steps)
        deepest = max(deepest, *(state.depth for state in states))
    names = ("states", "steps", "inverse", "inner")
    return (f"{len(found):,}", *(f"{total[name]:,}" for name in names), str(deepest))


# ── writing a file as a whole ──────────────────────────────────────────────────────────────────────


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it."""
    with replacing(path) as file:
        file.write(data)
