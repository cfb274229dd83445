"""Learning for a command: for each hole, the examples, the initial code, and the learned code.

    traces/*.jsonl + njc.lock  ->  [LearningResult(hole, first=LockScore(5, 4, 9), score=LockScore(9, 0, 9))]  ->  njc.lock

The initial code is the locked code, or else is written by a model. Learned code is locked beside it, as
`static-learned` or `auto-learned`, as soon as it is found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from njc.compiler import generate
from njc.evaluation.execution_trace import ExecutionTrace
from njc.evaluation.learning.evaluate import SECONDS_PER_EXAMPLE, WorkerTask
from njc.evaluation.learning.learn import (
    Evaluation,
    ExampleFailure,
    ExampleSet,
    HoleRepair,
    find_observed_shapes,
    make_correction_prompt,
    parse_examples,
    select_examples,
)
from njc.evaluation.repair.loop import RepairBudget, Repaired, repair_code
from njc.project.units import explaining_failure
from njc.static.build import (
    Author,
    ContractVerdict,
    HoleRequest,
    choose_author,
    fill_holes,
    find_contract_verdict,
)
from njc.static.fit import StaticFile, import_extra, needs_judgement, normalize_code
from njc.static.generate import CodeCheck, Generated
from njc.static.holes import Hole
from njc.static.lock import LEARNED_SUFFIX, LockEntry, LockScore, StaticLock, TokenCounts, hash_code
from njc.static.staleness import Locked, describe_hole_status, find_hole_statuses
from njc.worker import Message, open_worker
from njrt.dataclass_json import validate_value
from njrt.errors import RejectedRequestError, ReplyError
from njrt.messages import Reply, Request, UserMessage
from njrt.models.model import answer_all
from njrt.records import asdict, record, replace
from njrt.session.examples import Example, format_example_line

NO_JUDGEMENT_MESSAGE = (
    "ask no model here: let an `assert` leave to the live block what needs judgement"
)


@record
class LearningResult:
    """The result for one hole; `trouble` is the reason if nothing was learned."""

    hole: Hole
    examples: ExampleSet
    first: LockScore | None = None
    score: LockScore | None = None
    attempts: int = 0
    trouble: str = ""
    rationale: str = ""


def read_examples(places: Sequence[Path]) -> list[Example]:
    """Read the examples in files, and in all .jsonl files in folders."""
    found: list[Example] = []
    for place in places:
        files = sorted(place.rglob("*.jsonl")) if place.is_dir() else [place]
        for file in files:
            with explaining_failure(f"read {file}"):
                text = file.read_text(encoding="utf-8-sig", errors="replace")
            found += parse_examples(text.split("\n"))
    return found


def learn_from_examples(
    files: Sequence[StaticFile],
    lock: StaticLock,
    examples: Sequence[Example],
    request: HoleRequest,
    *,
    repairs: bool = False,
    seconds: float = SECONDS_PER_EXAMPLE,
) -> Iterator[LearningResult]:
    """Learn code for each hole that has examples, and keep code that is better; yield the results in order.

    With `repairs`, only locked code that fails is sent to the model, which writes a rationale before the code; code is
    kept only if it is right on all examples. Code is stopped after `seconds` on an example.
    """
    import_extra()
    for file in files:
        for hole in filter(request.only, file.holes):
            studied, lock = _learn_hole(file, hole, lock, examples, request, repairs, seconds)
            yield studied


def _learn_hole(
    file: StaticFile,
    hole: Hole,
    lock: StaticLock,
    examples: Sequence[Example],
    request: HoleRequest,
    repairs: bool,
    seconds: float,
) -> tuple[LearningResult, StaticLock]:
    own = select_examples(hole, examples)
    studied = LearningResult(hole, own)
    if not own.all:
        reasons = "; ".join(own.unusable)
        trouble = f"no run of it can be used: {reasons}" if reasons else "no run of it was recorded"
        return replace(studied, trouble=trouble), lock
    if hole.mode == "static-raw" or hole.first_parameter:
        return replace(
            studied, trouble="not learned: its mode is static-raw, or it uses super()"
        ), lock
    lock, entry, trouble = (
        (lock, *find_locked_entry(hole, lock))
        if repairs
        else _find_initial_entry(file, hole, lock, request)
    )
    if entry is None:
        return replace(studied, trouble=trouble), lock
    request.notify(f"{'repairing' if repairs else 'learning'} {hole.name} from {len(own.all)} runs")
    author = choose_author(file, hole)
    output = generate(file.analysis).output  # with live blocks that the code may call
    assert output is not None, "only programs that compile have holes"
    task = WorkerTask(
        output.decode(file.source.encoding),
        hole.place,
        entry.code,
        hole.helper,
        hole.class_name,
        hole.mode == "auto",
        [str(folder) for folder in (file.unit.root, file.unit.source.parent)],
        [json.loads(format_example_line(example)) for example in own.all],
        seconds,
    )
    asked = CachedAnswers(author)
    judge = cache(lambda code: find_contract_verdict(file, hole, code, request, own.all))
    repair = HoleRepair(
        hole,
        make_learning_check(file, hole, judge),
        lambda code: evaluate_code(replace(task, code=code), own, hole, asked),
        partial(make_correction_prompt, asks_rationale=repairs),
        repairs,
    )
    budget = RepairBudget(request.attempts, temperature=author.temperature)
    learned = answer_all(repair_code(repair, entry.code, budget, True), author.ask)
    keep_repair_attempts(hole, learned, request)
    if learned.failure is not None and (repairs or learned.code == entry.code):
        raise learned.failure
    studied = replace(
        studied,
        first=learned.first.score,
        score=learned.evaluation.score,
        attempts=len(learned.attempts),
        rationale=learned.rationale,
    )
    if repairs and (learned.evaluation.score.wrong or not learned.attempts):
        return studied, lock
    seen = find_observed_shapes(
        hole, [example for example in examples if example.instruction == hole.instruction]
    )
    entry = make_repaired_entry(hole, entry, learned, request.today(), judge)
    mode, score = hole.mode + LEARNED_SUFFIX, learned.evaluation.score
    tokens = TokenCounts(entry.tokens.input + asked.input, entry.tokens.output + asked.output)
    lock = lock.with_entries([replace(entry, mode=mode, tokens=tokens, score=score, shapes=seen)])
    request.keep(lock)
    if learned.failure is not None:
        request.notify(f"{hole.name}: the best code so far is kept: {studied.score}")
        raise learned.failure
    return studied, lock


def keep_repair_attempts(hole: Hole, repaired: Repaired[Any], request: HoleRequest) -> None:
    """Store a repair's replies in a file, with the verdicts."""
    if repaired.attempts:
        request.keep_attempts(hole, Generated(repaired.code, repaired.attempts, repaired.cost))


def make_learning_check(
    file: StaticFile, hole: Hole, judge: Callable[[str], ContractVerdict]
) -> CodeCheck:
    """Return all checks, with the contract's `judge` last; in the mode `auto`, code must also not ask a model."""
    check = file.make_code_check(hole)

    def check_all(code: str) -> tuple[str, ...]:
        if reasons := check(code):
            return reasons
        if needs_judgement(hole, code):
            return (NO_JUDGEMENT_MESSAGE,)
        return judge(code).refusals

    return check_all


def find_locked_entry(hole: Hole, lock: StaticLock) -> tuple[LockEntry | None, str]:
    """Return the entry of a hole with code, or else the reason for its absence."""
    match find_hole_statuses([hole], lock)[hole.name]:
        case Locked(entry) if entry.live:
            return None, f"it stays live: {entry.live}"
        case Locked(entry):
            return entry, ""
        case status:
            return None, describe_hole_status(status)


def _find_initial_entry(
    file: StaticFile, hole: Hole, lock: StaticLock, request: HoleRequest
) -> tuple[StaticLock, LockEntry | None, str]:
    """Return the initial entry: the locked one, or else one written now."""
    if not isinstance(find_hole_statuses([hole], lock)[hole.name], Locked):
        only = replace(request, only=lambda other: other.name == hole.name)
        build = fill_holes([replace(file, holes=(hole,))], lock, only)
        lock = build.lock
        if build.findings:
            return lock, None, build.findings[0].diagnostic.message
    return lock, *find_locked_entry(hole, lock)


def make_repaired_entry(
    hole: Hole,
    began: LockEntry,
    repaired: Repaired[Any],
    date: str,
    judge: Callable[[str], ContractVerdict],
) -> LockEntry:
    """Return the entry for repaired code, with its total cost; unchanged code keeps its author and evidence."""
    cost = repaired.cost
    kept = replace(
        began,
        attempts=began.attempts + len(repaired.attempts),
        tokens=TokenCounts(began.tokens.input + cost.input, began.tokens.output + cost.output),
        usd=None if began.usd is None and cost.usd is None else (began.usd or 0) + (cost.usd or 0),
    )
    if repaired.code == began.code:
        return kept
    code = normalize_code(repaired.code, hole)
    return replace(
        kept,
        code=code,
        digest=hash_code(code),
        model=cost.model,
        date=date,
        checks=None,
        rationale=f"{repaired.rationale}\n" if repaired.rationale else "",
        contract=judge(repaired.code).evidence,
    )


class CachedAnswers:
    """Answers questions from running code; a repeated question gets the same answer (state: the answers)."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._answers: dict[str, Reply] = {}
        self.input = self.output = 0

    def __call__(self, question: Request) -> Reply:
        """Ask the author's model, unless it has been asked this before."""
        key = repr(question.messages)
        if key not in self._answers:
            reply = self._answers[key] = self._author.model.ask(question)
            self.input += reply.usage.input
            self.output += reply.usage.output
        return self._answers[key]


# ── running code on the recorded runs of its block ─────────────────────────────────────────────────


_STARTUP_SECONDS = 30.0


def evaluate_code(
    task: WorkerTask, examples: ExampleSet, hole: Hole, ask: Callable[[Request], Reply]
) -> Evaluation:
    """Run code on all examples; if its process ends early, the remaining examples count as wrong."""
    verdicts = list(_run_worker(task, hole, ask))
    missing = len(examples.all) - len(verdicts)
    verdicts += [{"verdict": "wrong", "differences": ["the code did not end"]}] * missing
    kinds = [verdict["verdict"] for verdict in verdicts]
    failures = tuple(
        ExampleFailure(
            example,
            tuple(verdict["differences"]),
            validate_value(verdict.get("trace", {}), ExecutionTrace),
        )
        for example, verdict in zip(examples.shown, verdicts, strict=False)
        if verdict["verdict"] == "wrong"
    )
    usable = len(kinds) - kinds.count("unusable")
    return Evaluation(LockScore(kinds.count("right"), kinds.count("wrong"), usable), failures)


def _run_worker(task: WorkerTask, hole: Hole, ask: Callable[[Request], Reply]) -> Iterator[Message]:
    """Yield the verdicts, one for each example, until the process ends or takes too long."""
    seconds = _STARTUP_SECONDS + task.seconds * len(task.examples)
    with open_worker("njc.evaluation.learning.evaluate") as worker:
        worker.send(asdict(task))
        try:
            while (message := worker.receive(seconds)) is not None:
                if "ask" not in message:
                    yield message
                    continue
                question = message["ask"]
                request = Request(
                    system=question["system"],
                    messages=(UserMessage(question["question"]),),
                    temperature=0.0,
                    max_reply_tokens=hole.options.max_reply_tokens or 1024,
                    timeout=hole.options.max_call_seconds or 120.0,
                    place=hole.place,
                )
                try:
                    worker.send({"text": ask(request).message.text})
                except (RejectedRequestError, ReplyError) as error:  # others aren't the code's
                    worker.send({"error": str(error)})
        except TimeoutError:
            return
