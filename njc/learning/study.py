"""Learning on behalf of a command: for each gap its lessons, the code to begin with, and what became of it.

    traces/*.jsonl + njc.lock  ->  [Studied(gap, first=Score(5, 4, 9), score=Score(9, 0, 9))]  ->  njc.lock

Code is learned from that which is locked, or which a model writes to begin with. The better code is locked
beside the other, as `static-learned` or `auto-learned`, and kept at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from njc.compiler import compile_source
from njc.learning.examples import Lessons, examples_in, lessons_for, shapes_seen
from njc.learning.learn import Learned, learning
from njc.learning.runner import Stage, rehearsed
from njc.static.author import Author, author_for
from njc.static.build import Request, static_build
from njc.static.fit import StaticFile, check_for, judges
from njc.static.format import require_extra, settled
from njc.static.generate import Check, Generated
from njc.static.holes import Gap
from njc.static.lock import LEARNED, Entry, Lock, Score, digest_of, with_entries
from njc.static.staleness import Locked, standings
from njrt.errors import ConfigurationError
from njrt.messages import Reply
from njrt.messages import Request as Question
from njrt.options import Options
from njrt.session.examples import Example

NO_JUDGEMENT = "ask no model here: let an `assert` leave to the live block what needs judgement"


@dataclass(frozen=True, slots=True)
class Studied:
    """What has become of one gap; `trouble` says why nothing was learned, if so."""

    gap: Gap
    lessons: Lessons
    first: Score | None = None
    score: Score | None = None
    attempts: int = 0
    trouble: str = ""


def examples_at(places: Sequence[Path]) -> list[Example]:
    """Read the examples in files, and in all .jsonl files of folders."""
    found: list[Example] = []
    for place in places:
        files = sorted(place.rglob("*.jsonl")) if place.is_dir() else [place]
        for file in files:
            try:
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError as error:
                raise ConfigurationError(f"cannot read {file}: {error.strerror}") from None
            found += examples_in(lines)
    return found


def study(
    files: Sequence[StaticFile], lock: Lock, examples: Sequence[Example], request: Request
) -> Iterator[Studied]:
    """Learn the code of each gap that has lessons, one after the other, and keep what is better."""
    require_extra()
    for file in files:
        for gap in filter(request.only, file.gaps):
            studied, lock = _studied(file, gap, lock, examples, request)
            yield studied


def _studied(
    file: StaticFile, gap: Gap, lock: Lock, examples: Sequence[Example], request: Request
) -> tuple[Studied, Lock]:
    lessons = lessons_for(gap, examples)
    studied = Studied(gap, lessons)
    if not lessons.all:
        return replace(studied, trouble=_why_none(lessons)), lock
    if gap.mode == "static-raw" or gap.first_parameter:
        return replace(studied, trouble="not learned: it is raw, or speaks of super()"), lock
    lock, entry, trouble = _begun(file, gap, lock, request)
    if entry is None:
        return replace(studied, trouble=trouble), lock
    request.told(f"learning {gap.name} from {len(lessons.all)} runs")
    author = author_for(file, gap)
    stage = Stage(gap, _live(file), (file.unit.root, file.unit.source.parent), lessons)
    asked = Asked(author)
    learned = author.driven(
        learning(
            gap,
            _check(file, gap),
            lambda code: rehearsed(stage, code, asked),
            entry.code,
            request.attempts,
            author.temperature,
        )
    )
    if learned.attempts:
        request.keep_attempts(gap, Generated(learned.code, learned.attempts, learned.cost))
    seen = shapes_seen(gap, [each for each in examples if each.instruction == gap.instruction])
    lock = with_entries(lock, [_entry(gap, entry, learned, seen, asked, request.today())])
    request.keep(lock)
    return (
        replace(studied, first=learned.first, score=learned.score, attempts=len(learned.attempts)),
        lock,
    )


def _check(file: StaticFile, gap: Gap) -> Check:
    """All checks, and that code for the mode `auto` leaves judgement to the live block."""
    check = check_for(file, gap)
    return lambda code: check(code) or ((NO_JUDGEMENT,) if judges(gap, code) else ())


def _why_none(lessons: Lessons) -> str:
    if lessons.unusable:
        return f"no run of it can be used: {'; '.join(lessons.unusable)}"
    return "no run of it was recorded"


def _begun(
    file: StaticFile, gap: Gap, lock: Lock, request: Request
) -> tuple[Lock, Entry | None, str]:
    """The entry to begin with: what is locked, else what is written now."""
    standing = standings([gap], lock)[gap.name]
    if not isinstance(standing, Locked):
        only = replace(request, only=lambda each: each.name == gap.name)
        build = static_build([replace(file, gaps=(gap,))], lock, only)
        lock = build.lock
        if build.findings:
            return lock, None, build.findings[0].diagnostic.message
        standing = standings([gap], lock)[gap.name]
    if not isinstance(standing, Locked):
        return lock, None, "there is no code for it"
    if standing.entry.live:
        return lock, None, f"it stays live: {standing.entry.live}"
    return lock, standing.entry, ""


def _entry(
    gap: Gap,
    began: Entry,
    learned: Learned,
    seen: Mapping[str, str],
    asked: Asked,
    date: str,
) -> Entry:
    """What is locked of learned code, with what it took in all; code that is as it was keeps its author."""
    cost = learned.cost
    code = settled(learned.code, gap) if learned.code != began.code else began.code
    kept = replace(
        began,
        mode=gap.mode + LEARNED,
        attempts=began.attempts + len(learned.attempts),
        input_tokens=began.input_tokens + cost.input + asked.input,
        output_tokens=began.output_tokens + cost.output + asked.output,
        usd=None if began.usd is None and cost.usd is None else (began.usd or 0) + (cost.usd or 0),
        score=learned.score,
        shapes=seen,
    )
    if code == began.code:
        return kept
    return replace(kept, code=code, digest=digest_of(code), model=cost.model, date=date)


def _live(file: StaticFile) -> str:
    """The program with live blocks: whatever of it code may call."""
    output = compile_source(file.module.source, project=Options()).output
    assert output is not None, "gaps are those of programs that compile"
    return output.decode(file.module.source.encoding)


class Asked:
    """Answers the questions of code that is being run: each question once."""

    def __init__(self, author: Author) -> None:
        self._author = author
        self._answers: dict[str, Reply] = {}
        self.input = self.output = 0

    def __call__(self, question: Question) -> Reply:
        """Ask the author's model, unless it has been asked just this."""
        key = repr(question.messages)
        if key not in self._answers:
            reply = self._answers[key] = self._author.model.ask(question)
            self.input += reply.usage.input
            self.output += reply.usage.output
        return self._answers[key]
