"""The runs of `njc tune`: each form of a program in a separate lock, its cases in another process.

tuner = Tuner(print, "triage.njpy:route", unit, project, CaseResults(path, CaseResult), "", 1, 1, 2000, reserved=120)
tuner.choose(cases, most_tokens=2.0)     {"Put into <:team: ...": Form({"reasoning": "text"})}
tuner.run(forms, held_out)               the results of the cases with these forms
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from njc.compiler import analyze
from njc.evaluation.cases.case_file import NumberedCase
from njc.evaluation.cases.runner import (
    BlockRun,
    CaseResult,
    CaseResults,
    compute_program_digest,
    list_planned_runs,
    run_eval_process,
    set_variable,
)
from njc.evaluation.cases.tuning import (
    EXAMPLE_COUNTS,
    PLAIN,
    VOTES,
    Form,
    ResultsByCase,
    Score,
    choose_examples,
    choose_threshold,
    compute_score,
    describe_sure_runs,
    find_block,
    get_first_model,
    list_block_runs,
    list_forms,
    list_sure_runs,
    select,
    with_second,
    with_votes,
)
from njc.frontend.blocks import NaturalBlock
from njc.project.build import read_source
from njc.project.config import Project
from njc.project.tuned import LOCK_VARIABLE, NO_EVIDENCE, Evidence, TunedSection, find_lock_path
from njc.project.units import Unit
from njc.static.files import save_lock
from njc.static.lock import StaticLock, format_lock, read_lock
from njrt.errors import ConfigurationError

MARGIN = 0.1
"""How much lower the rate of a form may be on the first half of the cases to be tried on all."""
CHARACTERS_OF_TOKEN = 4.0
"""For the length of examples, before they are tried."""


@dataclass(slots=True)
class Tuner:
    """The runs of one command (state: the blocks and the model, and the calls made)."""

    note: Callable[[str], None]
    """Called with a line about each step."""
    target: str
    unit: Unit
    project: Project
    results: CaseResults
    model: str
    repeats: int
    jobs: int
    calls: int
    reserved: int
    """Calls that are needed at the end."""
    used: int = 0
    name: str = ""
    """The name of the model in compiled calls."""
    places: dict[str, str] = field(default_factory=dict)
    """The place of each block, by its instruction."""
    digests: set[str] = field(default_factory=set)
    """The versions of the program; their calls are counted."""
    plain: str = ""
    """The digest of the program as it is."""

    def choose(self, cases: Sequence[NumberedCase], most_tokens: float) -> dict[str, Form]:
        """Return the best form of each block, by its instruction, without blocks that stay as they are."""
        plain_results = self.run({}, cases)
        plain = compute_score(plain_results)
        runs = list_block_runs(plain_results)
        if not runs:
            raise ConfigurationError(f"{self.target} has run no natural block in these cases")
        self.name = get_first_model(runs[0].model)
        blocks = analyze(read_source(self.unit)).blocks
        chosen: dict[str, Form] = {}
        for run in runs:
            block = find_block(blocks, run.instruction)
            if block is None:
                continue
            self.places[run.instruction] = f"{self.unit.path}:{block.line}"
            self.note(f"{self.unit.path}:{block.line}, as it is: {_describe(plain)}")
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
        """Return the forms with a second model, if a threshold separates right answers of the first one.

        Raises:
            ConfigurationError: several blocks run in a case, or the block has no answer with a schema.
        """
        if len(self.places) != 1:
            raise ConfigurationError("--second needs a function with one block")
        (instruction,) = self.places
        form = chosen.get(instruction, PLAIN)
        probe = {instruction: with_second(form, second, 0.0)}
        runs = list_sure_runs(self.run(probe, cases))
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
        return {instruction: with_second(form, second, threshold)}

    def choose_form(
        self,
        block: NaturalBlock,
        run: BlockRun,
        cases: Sequence[NumberedCase],
        chosen: dict[str, Form],
        plain_results: ResultsByCase,
        most_tokens: float,
    ) -> Form:
        """Return the best form of one block, with the forms that were chosen for others."""
        best, results = PLAIN, self.run(chosen, cases) if chosen else plain_results

        def try_form(form: Form) -> None:
            nonlocal best, results
            votes = form.options.get("votes", 1)
            assert isinstance(votes, int)
            if not self.can_afford(len(cases) * self.repeats * votes):
                self.note(f"  {form}: left out, {self.calls:,} calls would not be enough")
                return
            without = form.cases | best.cases
            for part, margin in ((cases[: len(cases) // 2], MARGIN), (cases, 0.0)):
                tried = self.run({**chosen, run.instruction: form}, part)
                known, plain = select(results, tried), select(plain_results, tried)
                score = compute_score(tried, without)
                other, least = compute_score(known, without), compute_score(plain, without)
                is_worse = score.rate < other.rate - margin
                if is_worse or score.tokens > most_tokens * least.tokens:
                    self.note(f"  {form}: {_describe(score)}")
                    return
            better = score.rank > other.rank
            self.note(f"  {form}: {_describe(score)}{' (best so far)' if better else ''}")
            if better:
                best, results = form, tried

        for form in list_forms(block, run.effects):
            try_form(form)
        base, best_tokens = best, compute_score(results).tokens
        limit = most_tokens * compute_score(plain_results).tokens
        for count in EXAMPLE_COUNTS:
            examples, digests = choose_examples(results, run.instruction, count)
            length = sum(map(len, chain.from_iterable(examples)))
            if len(examples) == count and best_tokens + length / CHARACTERS_OF_TOKEN <= limit:
                try_form(Form(base.options, examples, digests))
        is_answer = best.options.get("effects", run.effects) == "answer"
        if is_answer and VOTES * compute_score(results).tokens <= limit:
            try_form(with_votes(best))
        return best

    def run(self, forms: dict[str, Form], cases: Sequence[NumberedCase]) -> ResultsByCase:
        """Return the results of the cases with these forms; make the missing runs in another process."""
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
        planned = list_planned_runs(cases, [self.model], self.repeats)
        found: dict[str, list[CaseResult]] = {case.digest: [] for case in cases}
        for run in planned:
            found[run.numbered.digest].append(self.results.known[run.make_key(digest)])
        return found

    def make_missing_runs(self, digest: str, cases: Sequence[NumberedCase], folder: Path) -> None:
        """Make the runs that are not in the file of results.

        Raises:
            ConfigurationError: the other process has failed.
        """
        planned = list_planned_runs(cases, [self.model], self.repeats)
        if all(run.make_key(digest) in self.results.known for run in planned):
            return
        file = folder / "cases.jsonl"
        file.write_text("".join(case.text + "\n" for case in cases), encoding="utf-8")
        run_eval_process(
            self.target,
            file,
            self.results.path,
            repeats=self.repeats,
            jobs=self.jobs,
            models=[self.model],
        )
        self.results.read()

    def can_afford(self, calls: int) -> bool:
        return self.used + calls + self.reserved <= self.calls

    def count_looks(self, held_out: Sequence[NumberedCase]) -> int:
        """Return how many candidates were compared on the held-out cases, this one included."""
        digests = {case.digest for case in held_out}
        versions = {
            result.program
            for result in self.results.known.values()
            if result.case in digests and result.model == self.model
        }
        return max(1, len(versions - {self.plain}))

    def make_lock(self, forms: dict[str, Form], evidence: Evidence) -> StaticLock:
        """Return the lock of the project with these forms in place of the tuned ones of the program."""
        lock = read_lock(find_lock_path(self.unit, self.project))
        kept = {key: section for key, section in lock.tuned.items() if key[0] != self.unit.path}
        made = [
            TunedSection(
                self.unit.path,
                instruction,
                self.name,
                form.options,
                time.strftime("%Y-%m-%d"),
                evidence,
                form.examples,
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
            if key[2] != self.name or key[1] not in forms
        }
        save_lock(replace(after, tuned={**others, **after.tuned}), before, path)
        return path


def _describe(score: Score) -> str:
    return f"{score.rate:.3f} in {score.runs} runs, {score.tokens:.0f} tokens"
