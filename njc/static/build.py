"""Finding or generating the code of all static blocks of a build.

    units + njc.lock  ->  StaticBuild(written, lock, findings, notes)

What is locked is used as it is, and checked again; what is missing or stale is generated, unless the build
is `locked`: then nothing is asked and all that is missing is named. Each piece of new code is handed to
`keep` at once, so that a build that is interrupted goes on where it was. Blocks may be written side by side;
the lock and all that is told have the order of the sources all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock as Mutex
from typing import assert_never

from njc.codegen.lower import WrittenBlock
from njc.project.build import Finding
from njc.project.units import Unit
from njc.static.author import Author, author_for
from njc.static.fit import StaticFile, check_for, found, judges, put
from njc.static.format import require_extra, settled
from njc.static.generate import MOST_ATTEMPTS, Failed, Generated, generating
from njc.static.holes import Gap
from njc.static.lock import LEARNED, Entry, Lock, digest_of, with_entries
from njc.static.staleness import Locked, Missing, Stale, Standing, explained, standings

JUDGEMENT = "it needs judgement: its code would ask a model each time"
SIDE_BY_SIDE = 4
"""Blocks that a vendor's model writes at once, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a build asks for: only what is locked, or new code in so many attempts."""

    locked: bool = False
    learned: bool = True
    """Whether code that was learned from examples comes first."""
    attempts: int = MOST_ATTEMPTS
    jobs: int | None = None
    """Blocks to write at once; None leaves it to the models."""
    today: Callable[[], str] = lambda: ""
    keep: Callable[[Lock], None] = lambda lock: None
    keep_attempts: Callable[[Gap, Failed | Generated], str] = lambda gap, result: ""
    """Takes the attempts of a conversation; says where they can be read."""
    told: Callable[[str], None] = lambda line: None
    """Is told what is being done."""
    only: Callable[[Gap], bool] = lambda gap: True
    """Which gaps models are asked for; others that are not locked are passed over."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What has become of one gap: an entry of the lock, or findings that say why not."""

    entry: Entry | None = None
    findings: tuple[Finding, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StaticBuild:
    """What has become of all gaps."""

    lock: Lock
    used: tuple[Entry, ...] = ()
    """The entries that the gaps are filled from."""
    written: Mapping[Unit, Sequence[WrittenBlock]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def static_build(files: Sequence[StaticFile], lock: Lock, request: Request) -> StaticBuild:
    """Fill the gaps of all files, from the lock or by asking models."""
    gaps = [(file, gap) for file in files for gap in file.gaps]
    standing = standings([gap for _, gap in gaps], lock, learned=request.learned)
    to_write = [
        (file, gap) for file, gap in gaps if _is_to_be_written(gap, standing[gap.name], request)
    ]
    if to_write:
        require_extra()
    new = _all_written(to_write, lock, request)
    fillings = [
        new.get(gap.name) or _filling(file, gap, standing[gap.name], request) for file, gap in gaps
    ]
    used = tuple(each.entry for each in fillings if each.entry is not None)
    lock = with_entries(lock, used)
    written: dict[Unit, list[WrittenBlock]] = {file.unit: [] for file in files}
    for (file, gap), filling in zip(gaps, fillings, strict=True):
        entry = filling.entry
        if entry is not None and not entry.live and not filling.findings:
            written[file.unit].append(put(file, gap, entry.code, shapes_for(gap, lock)))
    return StaticBuild(
        lock,
        used,
        written,
        tuple(each for filling in fillings for each in filling.findings),
        (
            *(filling.note for filling in fillings if filling.note),
            *(_passed_over([gap for _, gap in gaps], used, lock) if request.learned else ()),
        ),
    )


def _passed_over(gaps: Sequence[Gap], used: Sequence[Entry], lock: Lock) -> Iterator[str]:
    """Name the gaps whose learned code is stale."""
    kinds = {(entry.name, entry.mode) for entry in used}
    for gap in gaps:
        key = (gap.name, gap.mode + LEARNED)
        if key in lock.entries and key not in kinds:
            yield f"what was learned of {gap.name} is stale; `njc static --learn` does it again"


def shapes_for(gap: Gap, lock: Lock) -> Mapping[str, str]:
    """The shapes of a block's values, where they have been learned in this mode or another."""
    found = [
        entry.shapes
        for (name, kind), entry in sorted(lock.entries.items())
        if name == gap.name
        and kind.endswith(LEARNED)
        and entry.meaning.instruction == gap.meaning.instruction
    ]
    return found[0] if found else {}


def _is_to_be_written(gap: Gap, standing: Standing, request: Request) -> bool:
    if request.locked or not request.only(gap):
        return False
    match standing:
        case Locked():
            return False
        case Stale(entry):
            return not entry.is_edited
        case Missing():
            return True
        case _:
            assert_never(standing)


def _filling(file: StaticFile, gap: Gap, standing: Standing, request: Request) -> Filling:
    """Fill a gap for which nothing is asked."""
    match standing:
        case Locked(entry):
            return Filling(entry, tuple(_refused(file, gap, entry)))
        case Stale() | Missing() if not request.only(gap):
            return Filling()
        case Stale() | Missing() if request.locked:
            message = f"`{gap.name}` is not locked for mode {gap.mode}; {explained(standing)}"
            hint = "build without --locked, and commit njc.lock"
            return Filling(findings=(found(file, gap, "NJ402", message, hint),))
        case Stale() | Missing():
            message = f"`{gap.name}` is {explained(standing)}"
            hint = (
                f"`njc lock --update {gap.name}` has it written anew, "
                f"`njc lock --keep {gap.name}` keeps your code"
            )
            return Filling(findings=(found(file, gap, "NJ403", message, hint),))
        case _:
            assert_never(standing)


def _refused(file: StaticFile, gap: Gap, entry: Entry) -> Iterator[Finding]:
    """Check locked code again: it may have been edited, or the checks may have grown."""
    if entry.live:
        return
    if reasons := check_for(file, gap, settle=False)(entry.code):
        whose = "edited" if entry.is_edited else "locked"
        message = f"the {whose} code of `{gap.name}` is refused: {'; '.join(reasons)}"
        hint = f"mend it in njc.lock, or have it written anew by `njc lock --update {gap.name}`"
        yield found(file, gap, "NJ404", message, hint)


def _all_written(
    gaps: Sequence[tuple[StaticFile, Gap]], lock: Lock, request: Request
) -> dict[str, Filling]:
    """Have the code of gaps written, side by side where the models allow it, and keep each at once."""
    authors = [author_for(file, gap) for file, gap in gaps]
    jobs = request.jobs or (SIDE_BY_SIDE if all(each.is_remote for each in authors) else 1)
    fillings: dict[str, Filling] = {}
    mutex = Mutex()

    def write(file: StaticFile, gap: Gap, author: Author) -> None:
        request.told(f"writing {gap.name}")
        filling = _written(file, gap, author, request)
        with mutex:
            fillings[gap.name] = filling
            entries = [each.entry for each in fillings.values() if each.entry is not None]
            if filling.entry is not None:
                request.keep(with_entries(lock, entries))

    tasks = [(file, gap, author) for (file, gap), author in zip(gaps, authors, strict=True)]
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            write(*task)
        return fillings
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(partial(copy_context().run, write, *task)) for task in tasks]
        try:
            for each in running:
                each.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return fillings


def _written(file: StaticFile, gap: Gap, author: Author, request: Request) -> Filling:
    """Have a model write the code of a gap."""
    most = 1 if gap.mode == "static-raw" else request.attempts
    result = author.driven(generating(gap, check_for(file, gap), most, author.temperature))
    at = request.keep_attempts(gap, result)
    match result:
        case Generated(code) if judges(gap, code):
            return _live(gap, result, request, JUDGEMENT)
        case Generated(code):
            return Filling(entry_of(gap, settled(code, gap), result, request.today()))
        case Failed(attempts) if _may_stay_live(gap):
            return _live(gap, result, request, f"no code passed the checks in {_times(attempts)}")
        case Failed(attempts):
            reasons = "; ".join(attempts[-1].refusals) if attempts else "nothing was said"
            message = (
                f"no code for `{gap.name}` passed the checks in {_times(attempts)}"
                f"{f' (all are in {at})' if at else ''}; the last: {reasons}"
            )
            hint = 'say more in the prompt, let it run live (mode="live"), or say fallback="live"'
            return Filling(findings=(found(file, gap, "NJ401", message, hint),))
        case _:
            assert_never(result)


def _may_stay_live(gap: Gap) -> bool:
    """Whether a block without code runs live: as its option says, else where a live block stands behind all code."""
    chosen = gap.options.fallback
    return gap.mode == "auto" if chosen is None else chosen == "live"


def _times(attempts: Sequence[object]) -> str:
    return f"{len(attempts)} attempt" + "s" * (len(attempts) != 1)


def _live(gap: Gap, result: Generated | Failed, request: Request, reason: str) -> Filling:
    entry = replace(entry_of(gap, "", result, request.today()), live=reason)
    return Filling(entry, note=f"{gap.name} stays live: {reason}")


def entry_of(gap: Gap, code: str, result: Generated | Failed, date: str) -> Entry:
    """What is locked of a conversation."""
    cost = result.cost
    return Entry(
        gap.name,
        gap.mode,
        gap.meaning,
        cost.model,
        date,
        len(result.attempts),
        cost.input,
        cost.output,
        cost.usd,
        digest_of(code),
        code,
    )
