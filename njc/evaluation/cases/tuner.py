"""Choosing the form of each block by its pass rate on cases, for `njc tune`.

    tuner.choose(cases, most_tokens=2.0)     {"Put into <:team: ...": Form({"reasoning": "text"})}
    compare_held_out(before, after, 1)       Evidence(before=0.62, after=0.78, better=10, worse=2, chance=0.039, ...)

Forms are compared on one half of the cases. The best form is compared with the unchanged program on the other half,
once, and kept only if it is better there. A case belongs to the same half in every run of the command, and each
additional candidate compared on the held-out half raises the bar (Bonferroni's correction).
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from pathlib import Path
from statistics import fmean

from njc.codegen.tuned import OptionValue, extract_source_instruction
from njc.compiler import analyze
from njc.evaluation.cases.case_file import NumberedCase
from njc.evaluation.cases.runner import (
    BlockRun,
    CaseResult,
    CaseResults,
    collect_results,
    compute_program_digest,
    list_planned_runs,
    run_eval_process,
    set_variable,
)
from njc.evaluation.cases.summary import compute_sign_test, count_changes, merge_equal
from njc.evaluation.comparison.results import compute_pass_interval
from njc.frontend.blocks import NaturalBlock
from njc.project.build import read_source
from njc.project.config import LOCK_VARIABLE, Project
from njc.project.tuned import NO_EVIDENCE, Evidence, TunedSection, find_lock_path
from njc.project.units import Unit
from njc.static.lock import StaticLock, format_lock, read_lock
from njc.static.write import save_lock
from njrt.agent.prompt import extract_shown
from njrt.errors import ConfigurationError
from njrt.message_json import find_last_object
from njrt.records import record

ResultsByCase = Mapping[str, Sequence[CaseResult]]
"""Each case's runs, by the case's digest."""

EXAMPLE_COUNTS = (2, 4)
VOTES = 3
MAX_EXAMPLE = 1_500
"""The maximum number of characters in an example; longer ones cost more than they show."""


@record
class Form:
    """A form that a block may have: options and examples."""

    options: Mapping[str, OptionValue]
    examples: tuple[tuple[str, str], ...] = ()
    cases: frozenset[str] = frozenset()
    """The cases that the examples are taken from."""

    def add(self, **options: OptionValue) -> Form:
        """Return the form with additional options."""
        return replace(self, options={**self.options, **options})

    def __str__(self) -> str:
        parts = [f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}" for name, value in self.options.items()]  # fmt: skip
        if self.examples:
            parts.append(f"{len(self.examples)} examples")
        return ", ".join(parts) or "as it is"


PLAIN = Form({})


@record
class Score:
    """The result of a form on some cases."""

    rate: float
    tokens: float
    calls: float
    """Model calls; like the tokens, the mean per run."""
    runs: int

    @property
    def rank(self) -> tuple[float, float]:
        return round(self.rate, 9), -self.tokens

    def __str__(self) -> str:
        return f"{self.rate:.3f} in {self.runs} runs, {self.tokens:.0f} tokens"


def split_cases(cases: Sequence[NumberedCase]) -> tuple[list[NumberedCase], list[NumberedCase]]:
    """Return the cases to choose on and the held-out cases, about half each, in the order of the file.

    A case's half depends only on the case itself: adding cases moves no other case, and equal cases stay together.
    """

    def is_held_out(case: NumberedCase) -> bool:
        return hashlib.sha256(case.contents.encode()).digest()[3] % 2 == 1

    return [*filterfalse(is_held_out, cases)], [*filter(is_held_out, cases)]


def list_forms(block: NaturalBlock, effects: str) -> Iterator[Form]:
    """Yield the forms to try for a block run with these effects, leaving alone what its author has set."""
    forms: list[dict[str, OptionValue]] = [{"reasoning": "text"}]
    if effects == "answer":
        forms += [{"effects": "direct"}] if block.options.authority != "strict" else []
    else:
        forms.append({"reasoning": "ask"})
    for options in forms:
        if all(getattr(block.options, name) is None for name in options):
            yield Form(options)


def list_block_runs(results: ResultsByCase) -> list[BlockRun]:
    """Return each block's first run, in order; blocks with an interface have only one form and are left out."""
    first: dict[str, BlockRun] = {}
    for result in chain.from_iterable(results.values()):
        for run in (each for each in result.blocks if each.effects != "interface"):
            first.setdefault(run.instruction, run)
    return list(first.values())


def get_first_model(name: str) -> str:
    """Return a model's name without the votes and the second model that the author has set."""
    name = re.sub(r"\Avote\(\d+x(.*)\)\Z", r"\1", name)
    return re.sub(r"\Acascade\(([^,]*),.*\)\Z", r"\1", name)


def choose_examples(
    results: ResultsByCase, instruction: str, count: int
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return up to `count` examples from passed cases, different answers first, and the digests of these cases."""
    found: list[tuple[str, str, str]] = []
    for digest, runs in results.items():
        for run in (run for result in runs[:1] for run in result.blocks):
            shown = (run.shown and extract_shown(run.shown, run.instruction)) or ""
            is_short = len(shown) + len(run.reply) <= MAX_EXAMPLE
            if run.instruction == instruction and shown and is_short:
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
    examples = tuple((shown, reply) for _, shown, reply in chosen)
    return examples, frozenset(digest for digest, _, _ in chosen)


def compute_score(results: ResultsByCase, without: frozenset[str] = frozenset()) -> Score:
    """Return the score of some runs, excluding the cases that examples are taken from."""
    runs = [run for digest, each in results.items() if digest not in without for run in each]
    if not runs:
        return Score(0.0, 0.0, 0.0, 0)
    tokens = fmean(run.input + run.output for run in runs)
    calls = fmean(run.calls for run in runs)
    return Score(fmean(run.passed for run in runs), tokens, calls, len(runs))


def select(results: ResultsByCase, others: ResultsByCase) -> ResultsByCase:
    """Return the results of those cases that also appear in `others`."""
    return {digest: runs for digest, runs in results.items() if digest in others}


def compare_held_out(before: ResultsByCase, after: ResultsByCase, looks: int) -> Evidence:
    """Return the evidence for two versions on the same cases; each case is compared with itself."""
    better, worse = count_changes(before, after)
    old, new = compute_score(before), compute_score(after)
    chance = min(1.0, compute_sign_test(better, worse) * looks)
    return Evidence(
        len(after), old.rate, new.rate, better, worse, chance, looks, old.tokens, new.tokens
    )


def is_kept(evidence: Evidence, confidence: float) -> bool:
    """Return whether a choice is better on the held-out cases, at this confidence level."""
    return evidence.better > evidence.worse and evidence.chance <= 1 - confidence


def list_sure_runs(results: ResultsByCase) -> list[tuple[float, bool]]:
    """Return the probability of each case run that the first model answered alone, and whether the run passed.

    If a block runs several times in a case, for example in a loop, the least certain answer counts.
    """
    sure: list[tuple[float, bool]] = []
    for result in chain.from_iterable(results.values()):
        known = [block.probability for block in result.blocks if block.probability is not None]
        if known and len(known) == len(result.blocks):
            sure.append((min(known), result.passed))
    return sure


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
    """Return how many runs the first model answered alone, and how many of these are wrong."""
    wrong = sum(not passed for _, passed in runs)
    low, high = compute_pass_interval(wrong, len(runs))
    rate = wrong / (len(runs) or 1)
    return (
        f"answered by the first model alone: {len(runs)} of {of} runs, {wrong} wrong "
        f"({rate:.3f}; 95 % interval {low:.3f} to {high:.3f})"
    )


MARGIN = 0.1
"""How much lower a form's rate may be on the first half of the cases for it to be tried on all of them."""
CHARACTERS_OF_TOKEN = 4.0
"""For estimating the length of examples before they are tried."""


@dataclass(slots=True)
class Tuner:
    """The runs made by one command (state: the blocks and the model, and the calls made)."""

    note: Callable[[str], None]
    """Called with a line describing each step."""
    target: str
    unit: Unit
    project: Project
    results: CaseResults
    model: str
    repeats: int
    jobs: int
    calls: int
    reserved: int
    """The number of calls needed at the end."""
    used: int = 0
    name: str = ""
    """The model's name in compiled calls."""
    places: dict[str, str] = field(default_factory=dict)
    """Each block's place, by its instruction."""
    digests: set[str] = field(default_factory=set)
    """The versions of the program; their calls are counted."""
    plain: str = ""

    def choose(self, cases: Sequence[NumberedCase], most_tokens: float) -> dict[str, Form]:
        """Return each block's best form, by its instruction, leaving out blocks that do not change."""
        plain_results = self.run({}, cases)
        plain = compute_score(plain_results)
        runs = list_block_runs(plain_results)
        if not runs:
            raise ConfigurationError(f"{self.target} has run no natural block in these cases")
        self.name = get_first_model(runs[0].model)
        # An f-string's text contains values.
        blocks = [each for each in analyze(read_source(self.unit)).blocks if not each.is_fstring]
        by_instruction = {extract_source_instruction(each): each for each in reversed(blocks)}
        chosen: dict[str, Form] = {}
        for run in runs:
            if (block := by_instruction.get(run.instruction)) is None:
                continue
            self.places[run.instruction] = f"{self.unit.path}:{block.line}"
            self.note(f"{self.unit.path}:{block.line}, as it is: {plain}")
            form = self.choose_form(block, run, cases, chosen, plain_results, most_tokens)
            if form != PLAIN:
                chosen[run.instruction] = form
        return chosen

    def add_second(
        self,
        cases: Sequence[NumberedCase],
        chosen: dict[str, Form],
        second: str,
        most_errors: float,
    ) -> dict[str, Form]:
        """Return the forms with a second model, if a threshold separates the first model's right answers.

        Raises ConfigurationError if several blocks run in a case, or if the block has no answer with a schema.
        """
        if len(self.places) != 1:
            raise ConfigurationError("--second needs a function with one block")
        (instruction,) = self.places
        form = chosen.get(instruction, PLAIN)
        if form.options.keys() & {"reasoning", "effects"}:
            self.note(f"  --second does not apply to {form}: its answers have no probability")
            return chosen
        probe = form.add(second_model=second, second_below=0.0)
        if not self.has_calls(probe, cases, compute_score(self.run({}, cases))):
            return chosen
        runs = list_sure_runs(self.run({instruction: probe}, cases))
        if not runs:
            raise ConfigurationError(
                "--second needs a block that answers with data, without reasoning"
            )
        threshold = choose_threshold(runs, most_errors)
        if threshold is None:
            self.note(
                f"  no threshold has at most {most_errors:g} wrong answers of the first model"
            )
            return chosen
        alone = [run for run in runs if run[0] >= threshold]
        self.note(f"  second_below={threshold}: {describe_sure_runs(alone, len(runs))}")
        return {instruction: form.add(second_model=second, second_below=threshold)}

    def choose_form(
        self,
        block: NaturalBlock,
        run: BlockRun,
        cases: Sequence[NumberedCase],
        chosen: dict[str, Form],
        plain_results: ResultsByCase,
        most_tokens: float,
    ) -> Form:
        """Return one block's best form, given the forms chosen for the others."""
        best, results = PLAIN, self.run(chosen, cases) if chosen else plain_results
        start = compute_score(plain_results)

        def try_form(form: Form) -> None:
            nonlocal best, results
            if not self.has_calls(form, cases, start):
                return
            without = form.cases | best.cases
            for part, margin in ((cases[: len(cases) // 2], MARGIN), (cases, 0.0)):
                tried = self.run({**chosen, run.instruction: form}, part)
                known, plain = select(results, tried), select(plain_results, tried)
                score = compute_score(tried, without)
                other, least = compute_score(known, without), compute_score(plain, without)
                is_worse = score.rate < other.rate - margin
                if is_worse or score.tokens > most_tokens * least.tokens:
                    self.note(f"  {form}: {score}")
                    return
            better = score.rank > other.rank
            self.note(f"  {form}: {score}{' (best so far)' if better else ''}")
            if better:
                best, results = form, tried

        for form in list_forms(block, run.effects):
            try_form(form)
        base, best_tokens = best, compute_score(results).tokens
        limit = most_tokens * start.tokens
        for count in EXAMPLE_COUNTS:
            examples, digests = choose_examples(results, run.instruction, count)
            length = sum(map(len, chain.from_iterable(examples)))
            if len(examples) == count and best_tokens + length / CHARACTERS_OF_TOKEN <= limit:
                try_form(Form(base.options, examples, digests))
        is_answer = best.options.get("effects", run.effects) == "answer"
        own = block.options
        if is_answer and own.votes is None and own.second_model is None:
            form = best.add(votes=VOTES)
            if VOTES * compute_score(results).tokens <= limit:
                try_form(form)
            else:
                self.note(
                    f"  {form}: left out, it needs more than {most_tokens:g} times the tokens"
                )
        return best

    def has_calls(self, form: Form, cases: Sequence[NumberedCase], plain: Score) -> bool:
        """Return whether enough calls are left to run and check a form, judging by plain runs; note it if not."""
        runs = len(cases) * self.repeats * int(form.options.get("votes", 1)) + self.reserved
        is_enough = self.used + runs * max(1.0, plain.calls) <= self.calls
        if not is_enough:
            self.note(f"  {form}: left out, {self.calls:,} calls would not be enough")
        return is_enough

    def run(self, forms: dict[str, Form], cases: Sequence[NumberedCase]) -> ResultsByCase:
        """Return the results of different cases with these forms, making missing runs in another process."""
        with tempfile.TemporaryDirectory() as folder:
            lock = Path(folder) / "njc.lock"
            lock.write_text(format_lock(self.make_lock(forms, NO_EVIDENCE)), encoding="utf-8")
            with set_variable(LOCK_VARIABLE, str(lock)):
                digest = compute_program_digest(self.unit.source, self.target)
                self.results.read()
                self.make_missing_runs(digest, cases, Path(folder))
        self.plain = self.plain or digest
        self.digests.add(digest)
        self.used = sum(
            result.calls for result in self.results.known.values() if result.program in self.digests
        )
        return merge_equal(collect_results(self.results, digest, cases, self.model, self.repeats))

    def make_missing_runs(self, digest: str, cases: Sequence[NumberedCase], folder: Path) -> None:
        """Make the runs missing from the results file; raises ConfigurationError if the other process fails."""
        planned = list_planned_runs(cases, [self.model], self.repeats)
        if all(run.make_key(digest) in self.results.known for run in planned):
            return
        file = folder / "cases.jsonl"
        file.write_text("".join(case.text + "\n" for case in cases), encoding="utf-8")
        to = self.results.path
        run_eval_process(self.target, file, to, [self.model], repeats=self.repeats, jobs=self.jobs)
        self.results.read()

    def count_looks(self, held_out: Sequence[NumberedCase]) -> int:
        """Return how many candidates have been compared on the held-out cases, including this one."""
        digests = {case.digest for case in held_out}
        versions = {
            result.program
            for result in self.results.known.values()
            if result.case in digests and result.model == self.model
        }
        return max(1, len(versions - {self.plain}))

    def make_lock(self, forms: dict[str, Form], evidence: Evidence) -> StaticLock:
        """Return the project's lock with these forms in place of the program's tuned ones."""
        lock = read_lock(find_lock_path(self.unit, self.project))
        kept = {key: section for key, section in lock.tuned.items() if key[0] != self.unit.path}
        today = time.strftime("%Y-%m-%d")
        made = [
            TunedSection(
                self.unit.path, instruction, self.name, form.options, today, evidence, form.examples
            )
            for instruction, form in forms.items()
        ]
        return replace(lock, tuned=kept | {section.key: section for section in made})

    def write(self, forms: dict[str, Form], evidence: Evidence) -> Path:
        path = find_lock_path(self.unit, self.project)
        before, after = read_lock(path), self.make_lock(forms, evidence)
        others = {
            key: section
            for key, section in before.tuned.items()
            if key[2] != self.name or key[1] not in self.places  # else measured without its section
        }
        save_lock(replace(after, tuned={**others, **after.tuned}), before, path)
        return path
