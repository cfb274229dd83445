"""`spsbench mutants`: buggy programs for `spsbench repair`, made of the right programs of MBPP.

mbpp.jsonl  ->  read_mbpp  ->  list_mutations  ->  the tests notice?  ->  mutants.jsonl, in the format of HumanEvalFix
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import click

from njc.evaluation.repair.testing import FailedTests, PassedTests, run_tests
from spsbench.repair.mutants import Mutation, RightProgram, list_mutations, read_mbpp


@click.command("mutants")
@click.argument("data", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Only N programs, at random.")
@click.option("--seed", default=0, help="Seed of the sample and of the mutations.")
@click.option("--each", default=1, type=click.IntRange(1), help="Mutants of a program, at most.")
@click.option("--test-seconds", default=5.0, type=click.FloatRange(0, min_open=True), help="Limit of tests.")  # fmt: skip
def command(
    data: Path, out: Path, sample: int | None, seed: int, each: int, test_seconds: float
) -> None:
    """Make buggy programs of the right ones of MBPP.

    A mutant has one other operator or constant; its tests notice it, and do
    not run out of time. Programs that fail their own tests are left out.
    """
    programs = list(_read_programs(data))
    Random(seed).shuffle(programs)
    kinds: Counter[str] = Counter()
    with out.open("w", encoding="utf-8") as file:
        for program in programs[:sample]:
            chosen = find_noticed(program, Random(f"{seed} {program.name}"), each, test_seconds)
            for number, (mutation, failure) in enumerate(chosen, 1):
                file.write(format_mutant(program, mutation, failure, number) + "\n")
                kinds[mutation.kind] += 1
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    click.echo(f"{out}: {kinds.total()} mutants of {len(programs[:sample])} programs: {counts}")


def find_noticed(
    program: RightProgram, random: Random, most: int, seconds: float
) -> Iterator[tuple[Mutation, FailedTests]]:
    """Yield mutations that the tests of a program notice, in random order."""
    if not isinstance(run_tests(program.code, program.tests, seconds), PassedTests):
        return
    mutations = list_mutations(program.code)
    random.shuffle(mutations)
    found = 0
    for mutation in mutations:
        outcome = run_tests(mutation.code, program.tests, seconds)
        if isinstance(outcome, FailedTests) and outcome.test and not outcome.is_unended:
            yield mutation, outcome
            found += 1
        if found == most:
            return


def format_mutant(
    program: RightProgram, mutation: Mutation, failure: FailedTests, number: int
) -> str:
    """Return a mutant as a line of HumanEvalFix; the task is a comment above the program."""
    task = "".join(f"# {line}\n" for line in program.text.splitlines())
    return json.dumps(
        {
            "task_id": f"{program.name}-{number}",
            "prompt": task,
            "buggy_solution": mutation.code,
            "canonical_solution": program.code,
            "test": program.tests,
            "entry_point": program.entry_point,
            "bug_type": mutation.kind,
            "line": mutation.line,
            "failure": failure.problem,
        }
    )


def _read_programs(data: Path) -> Iterator[RightProgram]:
    for number, line in enumerate(data.read_text(encoding="utf-8").split("\n"), 1):
        if line.strip():
            try:
                yield read_mbpp(json.loads(line))
            except (ValueError, LookupError, TypeError, AttributeError, SyntaxError) as error:
                raise click.ClickException(
                    f"{data}: line {number} is not of MBPP ({type(error).__name__}: {error})"
                ) from None
