"""A data set of trajectories: generated from a seed, split by program, read back as written.

    write_dataset(Path("data"), seed=1, programs=20_000)
        train.jsonl, valid.jsonl, test.jsonl, card.md

The programs are generated and run. Programs occur only once, as do steps with the same stack,
action and result. The digest of a program's text determines its part for every seed, so two data
sets never have the same program in different parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Literal

from njrt.data.private_files import replacing
from spsbench.journal import naming
from spsbench.neural.programs import write_program
from spsbench.report.document import Table, format_table
from spsbench.states.actions import ACTIONS, TakenStep, list_taken_steps
from spsbench.states.programs import record_call
from spsbench.states.trace import StackState, StateTrace, list_stacks
from spsbench.states.trajectories import (
    ENDING,
    Trajectory,
    read_trajectory_lines,
    write_trajectory_lines,
)

PARTS: Mapping[str, float] = {"train": 0.96, "valid": 0.02, "test": 0.02}
STATES_PER_PROGRAM = 6
"""The maximum number of states per program that have their steps in the data."""
MAX_STATES = 300
StepChoice = Literal["sampled", "ends", "both"]
"""A program's steps in the data: all actions in some states; from a call to its return and back, so
what the program does without how; or both."""


def choose_part(source: str) -> str:
    """Return the part of the data that a program belongs to."""
    place = int(sha256(source.encode()).hexdigest()[:8], 16) / 16**8
    for name, share in PARTS.items():
        place -= share
        if place < 0:
            return name
    return "test"


def generate_trajectory(seed: int, number: int, choice: StepChoice = "sampled") -> Trajectory:
    """Return the trajectory of a generated program, determined by the seed and number."""
    random = Random(f"{seed} {number}")
    program = write_program(random)
    recording = record_call(program.source, program.call, max_states=MAX_STATES)
    trace = recording.trace
    ends = () if choice == "sampled" else list_end_steps(trace)
    sampled = () if choice == "ends" else sample_trajectory(trace, random).steps
    steps = sorted((*ends, *sampled), key=lambda step: step.index)
    return Trajectory(trace, tuple(drop_repeated_steps(trace, steps)))


def list_end_steps(trace: StateTrace) -> list[TakenStep]:
    """Return the first state's step to its return and the last's to its call, if both exist."""
    if trace.is_cut:
        return []
    last = len(trace.states) - 1
    ends = {(0, "step_return", last), (last, "inv_step_call", 0)}
    taken = list_taken_steps(trace.states)
    return [step for step in taken if (step.index, step.action, step.target) in ends]


def sample_trajectory(trace: StateTrace, random: Random) -> Trajectory:
    """Return a trajectory with all actions in some states, and one breakpoint in each."""
    size = min(len(trace.states), STATES_PER_PROGRAM)
    chosen = sorted(random.sample(range(len(trace.states)), size))
    taken = list_taken_steps(trace.states, is_cut=trace.is_cut)
    steps: list[TakenStep] = []
    for index in chosen:
        here = [step for step in taken if step.index == index]
        stops = [step for step in here if step.action == "breakpoint"]
        steps += [step for step in here if step.action != "breakpoint"]
        steps += random.sample(stops, min(len(stops), 1))
    return Trajectory(trace, tuple(drop_repeated_steps(trace, steps)))


def drop_repeated_steps(trace: StateTrace, steps: Iterable[TakenStep]) -> list[TakenStep]:
    """Return the steps, only the first of those with the same stack, action and result."""
    stacks = list_stacks(trace.states)
    kept: dict[str, TakenStep] = {}
    for step in steps:
        kept.setdefault(repr((*find_ends(stacks, step), step.action, step.line)), step)
    return list(kept.values())


def find_ends(
    stacks: Sequence[StackState], step: TakenStep
) -> tuple[StackState, StackState | None]:
    """Return the stacks before and after a step."""
    return stacks[step.index], None if step.target is None else stacks[step.target]


def write_dataset(
    folder: Path, seed: int, programs: int, choice: StepChoice = "sampled"
) -> dict[str, int]:
    """Write a seed's data and the card; return the files' program counts.

    A larger number starts with the same programs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts: dict[str, Counter[str]] = {name: Counter() for name in PARTS}
    seen: set[str] = set()
    with ExitStack() as stack:
        files = {name: stack.enter_context(replacing(folder / f"{name}.jsonl")) for name in counts}
        for number in range(programs):
            made = generate_trajectory(seed, number, choice)
            if made.trace.source in seen:
                continue
            seen.add(made.trace.source)
            part = choose_part(made.trace.source)
            files[part].write("".join(write_trajectory_lines([made])).encode())
            counts[part].update(programs=1, states=len(made.trace.states), steps=len(made.steps))
    command = f"spsbench trajectories --seed {seed} --programs {programs}" + (
        "" if choice == "sampled" else f" --steps {choice}"
    )
    table = Table(
        ("file", *CARD_COLUMNS),
        [(name, *(f"{part[key]:,}" for key in CARD_COLUMNS)) for name, part in counts.items()],
    )
    parts = (
        "# Trajectories of generated programs",
        f"Written by `{command}`; the same command writes the same files.",
        format_table(table),
        CARD_NOTES,
    )
    card = "\n\n".join(parts) + "\n"
    replace_file(folder / "card.md", card.encode())
    return {name: count["programs"] for name, count in counts.items()}


CARD_COLUMNS = ("programs", "states", "steps")
CARD_NOTES = f"""\
- A step is a stack of functions with all variables, an action, and the stack that it leads to.
  Actions: {", ".join(ACTIONS)}.
- Programs by templates with random parts. Half of them call functions: recursion, closures,
  generators, exceptions, methods, loops. The others are one function with the methods of strings,
  lists and dictionaries. They are no sample of programs that people write.
- Divided by the digest of a program's text; a program occurs once, a step with the same stack,
  action and result too.
- States that look the same may have different ones after them: the position of an iterator is not
  shown.
- No personal data, no text of others."""


def read_part(folder: Path, name: str) -> Iterator[Trajectory]:
    """Yield the trajectories of a part."""
    path = folder / f"{name}.jsonl"
    with naming(path), path.open(encoding="utf-8", errors="replace") as lines:
        yield from read_trajectory_lines(lines)


def read_texts(path: Path) -> Iterator[str]:
    """Yield the lines of each trajectory as one text, to be parsed only when needed."""
    held: list[str] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            held.append(line)
            if line.rstrip().endswith(ENDING):
                yield "".join(held)
                held = []


# ── writing a file as a whole ─────────────────────────────────────────────────────────────────────


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it."""
    with replacing(path) as file:
        file.write(data)
