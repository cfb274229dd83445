"""Choosing the form of a block by its pass rate on cases.

    split_cases(cases)                      (those to choose on, those held out): half each, by their contents
    list_forms(block, "answer")             reasoning="text", effects="direct"
    choose_examples(results, block, 4)      values and replies of right cases, different replies first
    compare_held_out(before, after, 1)      Evidence(before=0.62, after=0.78, better=10, worse=2, chance=0.039, ...)

Forms are compared on one half of the cases. The best one is compared with the program as it is on the other half, once, and
kept only if it is better there. A case belongs to the same half in every run of the command, and each further candidate
that is compared on the held-out half raises the bar (Bonferroni's correction).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from njc.codegen.tuned import OptionValue, extract_source_instruction
from njc.evaluation.cases.case_file import NumberedCase
from njc.evaluation.cases.runner import BlockRun, CaseResult
from njc.evaluation.cases.summary import compute_sign_test
from njc.evaluation.comparison.results import compute_pass_interval
from njc.frontend.blocks import NaturalBlock
from njc.project.tuned import Evidence
from njrt.agent.prompt import extract_shown
from njrt.message_json import find_last_object

ResultsByCase = Mapping[str, Sequence[CaseResult]]
"""The runs of each case, by its digest."""

EXAMPLE_COUNTS = (2, 4)
VOTES = 3
MAX_EXAMPLE = 1_500
"""Characters of an example; a longer one costs more than it shows."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form that a block may have: options, and examples."""

    options: Mapping[str, OptionValue]
    examples: tuple[tuple[str, str], ...] = ()
    cases: frozenset[str] = frozenset()
    """The cases that the examples are taken from."""

    def __str__(self) -> str:
        parts = [f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}" for name, value in self.options.items()]  # fmt: skip
        if self.examples:
            parts.append(f"{len(self.examples)} examples")
        return ", ".join(parts) or "as it is"


PLAIN = Form({})


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a form on some cases."""

    rate: float
    tokens: float
    """The mean of a run."""
    runs: int

    @property
    def rank(self) -> tuple[float, float]:
        return round(self.rate, 9), -self.tokens


def split_cases(
    cases: Sequence[NumberedCase],
) -> tuple[list[NumberedCase], list[NumberedCase]]:
    """Return the cases to choose on and the held-out cases, in the order of the file; equal cases stay together."""

    def order(case: NumberedCase) -> str:
        return hashlib.sha256(_get_contents(case).encode()).hexdigest()

    groups = sorted({order(case) for case in cases})
    held_out = set(groups[1::2])
    return (
        [case for case in cases if order(case) not in held_out],
        [case for case in cases if order(case) in held_out],
    )


def _get_contents(case: NumberedCase) -> str:
    """Return the part of the digest that equal cases share."""
    return case.digest.rpartition("-")[0]


def list_forms(block: NaturalBlock, effects: str) -> Iterator[Form]:
    """Yield the forms to try for a block that is run with these effects, without what its author has set."""
    forms: list[dict[str, OptionValue]] = [{"reasoning": "text"}]
    if effects == "answer":
        forms += [{"effects": "direct"}] if block.options.authority != "strict" else []
    else:
        forms.append({"reasoning": "ask"})
    for options in forms:
        if all(getattr(block.options, name) is None for name in options):
            yield Form(options)


def find_block(blocks: Iterable[NaturalBlock], instruction: str) -> NaturalBlock | None:
    """Return the block of an instruction; None for an f-string, because its text has values in it."""
    found = (block for block in blocks if extract_source_instruction(block) == instruction)
    return next((block for block in found if not block.is_fstring), None)


def list_block_runs(results: ResultsByCase) -> list[BlockRun]:
    """Return one run of each block, in the order of their first runs; a block with an interface has no other forms."""
    blocks = (run for result in _list_results(results) for run in result.blocks)
    runs = (run for run in blocks if run.effects != "interface")
    first: dict[str, BlockRun] = {}
    for run in runs:
        first.setdefault(run.instruction, run)
    return list(first.values())


def get_first_model(name: str) -> str:
    """Return the name of a model without the votes and the second model that its author has set."""
    found = re.fullmatch(r"vote\(\d+x(.*)\)", name)
    name = found[1] if found else name
    found = re.fullmatch(r"cascade\(([^,]*),.*\)", name)
    return found[1] if found else name


def choose_examples(
    results: ResultsByCase, instruction: str, count: int
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return up to `count` examples from right cases and the digests of these cases: different answers first."""
    found: list[tuple[str, str, str]] = []
    for digest, runs in results.items():
        for result in runs[:1]:
            for run in result.blocks:
                shown = run.shown and extract_shown(run.shown, run.instruction)
                if (
                    run.instruction == instruction
                    and shown
                    and len(shown) + len(run.reply) <= MAX_EXAMPLE
                ):
                    found.append((digest, shown, run.reply))
    found.sort(key=lambda example: hashlib.sha256(example[1].encode()).hexdigest())
    chosen: list[tuple[str, str, str]] = []
    answers: set[str] = set()
    for is_new in (True, False):
        for example in found:
            answer = json.dumps(find_last_object(example[2]) or example[2], sort_keys=True)
            if len(chosen) < count and example not in chosen and (answer not in answers) == is_new:
                chosen.append(example)
                answers.add(answer)
    return (
        tuple((shown, reply) for _, shown, reply in chosen),
        frozenset(digest for digest, _, _ in chosen),
    )


def compute_score(results: ResultsByCase, without: frozenset[str] = frozenset()) -> Score:
    """Return the score of some runs, without the cases that examples are taken from."""
    runs = [run for digest, each in results.items() if digest not in without for run in each]
    if not runs:
        return Score(0.0, 0.0, 0)
    tokens = fmean(run.input + run.output for run in runs)
    return Score(fmean(run.passed for run in runs), tokens, len(runs))


def select(results: ResultsByCase, others: ResultsByCase) -> ResultsByCase:
    """Return the results of the cases that others have, too."""
    return {digest: runs for digest, runs in results.items() if digest in others}


def compare_held_out(before: ResultsByCase, after: ResultsByCase, looks: int) -> Evidence:
    """Return the evidence of two versions on the same cases: each case is compared with itself."""
    better = worse = 0
    for digest, runs in after.items():
        rates = [fmean(run.passed for run in each) for each in (before[digest], runs)]
        better += rates[1] > rates[0]
        worse += rates[1] < rates[0]
    old, new = compute_score(before), compute_score(after)
    chance = min(1.0, compute_sign_test(better, worse) * looks)
    return Evidence(
        len(after), old.rate, new.rate, better, worse, chance, looks, old.tokens, new.tokens
    )


def is_kept(evidence: Evidence, confidence: float) -> bool:
    """Return whether a choice is better on the held-out cases, with this confidence."""
    return evidence.better > evidence.worse and evidence.chance <= 1 - confidence


def list_sure_runs(results: ResultsByCase) -> list[tuple[float, bool]]:
    """Return the probability of each answer of the first model alone, and whether the case has passed."""
    return [
        (block.probability, result.passed)
        for result in _list_results(results)
        for block in result.blocks
        if block.probability is not None
    ]


def choose_threshold(runs: Sequence[tuple[float, bool]], most_errors: float) -> float | None:
    """Return the lowest probability above that no larger share of answers is wrong; None without one."""
    ranked = sorted(runs, reverse=True)
    found, wrong = None, 0
    for count, (probability, passed) in enumerate(ranked, 1):
        wrong += not passed
        is_last = count == len(ranked) or ranked[count][0] < probability
        if is_last and wrong / count <= most_errors:
            found = probability
    return found


def describe_sure_runs(runs: Sequence[tuple[float, bool]], of: int) -> str:
    """Return how many runs the first model has answered alone, and how many of these are wrong."""
    wrong = sum(not passed for _, passed in runs)
    low, high = compute_pass_interval(wrong, len(runs))
    rate = wrong / (len(runs) or 1)
    return (
        f"answered by the first model alone: {len(runs)} of {of} runs, {wrong} wrong "
        f"({rate:.3f}; 95 % interval {low:.3f} to {high:.3f})"
    )


def with_second(form: Form, model: str, below: float) -> Form:
    """Return the form with a second model behind the first."""
    return replace(form, options={**form.options, "second_model": model, "second_below": below})


def with_votes(form: Form) -> Form:
    """Return the form with several replies for each question."""
    return replace(form, options={**form.options, "votes": VOTES})


def _list_results(results: ResultsByCase) -> Iterator[CaseResult]:
    for runs in results.values():
        yield from runs
