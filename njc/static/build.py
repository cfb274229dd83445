"""Find or generate the code for all static blocks in a build.

    units + njc.lock  ->  StaticBuild(written, lock, findings, notes)

Locked code is checked again and used unchanged; missing or stale code is generated. A `locked`
build asks no model and reports missing code. New code is passed to `keep` immediately, so that an
interrupted build can be resumed. Blocks may be written concurrently; the lock and the findings are
in source order.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock as Mutex
from typing import assert_never

from njc.compiler.compiler import Compilation
from njc.project.build import Finding
from njc.project.report import format_count
from njc.project.units import Unit, format_path
from njc.static.fit import StaticFile, find_compile_problem, import_extra, normalize_code
from njc.static.folder import Answer, Open, find_folder, remove_question, take_answer
from njc.static.generate import (
    MAX_ATTEMPTS,
    Generated,
    GenerationAttempt,
    GenerationCost,
    GenerationFailed,
    generate_code,
)
from njc.static.holes import Hole
from njc.static.lock import LockEntry, LockKey, StaticLock, TokenCounts, describe_authors, hash_code
from njc.static.staleness import (
    HoleStatus,
    Locked,
    Missing,
    Stale,
    describe_hole_status,
    find_hole_statuses,
)
from njrt.block.session.layered_model import find_recorder, make_layered_model
from njrt.block.session.limits import Meter, Metered, list_open_meters, read_limits
from njrt.block.session.notified import Notified
from njrt.block.session.settings import get_settings
from njrt.data.context import carry
from njrt.data.options import DEFAULTS, merge_option_layers, read_environment_options
from njrt.data.records import field, record, replace
from njrt.errors import ConfigurationError, ModelError
from njrt.log.listeners import make_added_listener
from njrt.messages import Reply, Request
from njrt.models.model import Model, answer_all

DEFAULT_JOBS = 4
"""The default number of blocks that a vendor's model writes concurrently."""


@record
class HoleRequest:
    """How a build gets code: only from the lock, or also from models."""

    locked: bool = False
    wants_review: bool = False
    """Whether code of the mode `reviewed` must be signed."""
    attempts: int = MAX_ATTEMPTS
    jobs: int | None = None
    """The number of blocks to write concurrently; None leaves it to the models."""
    today: Callable[[], str] = lambda: ""
    keep: Callable[[StaticLock], None] = lambda lock: None
    keep_attempts: Callable[[Hole, GenerationFailed | Generated], str] = lambda hole, result: ""
    """Stores a conversation's attempts, and returns where."""
    writer_name: str = ""
    """Who answers in the folder that the option `writer` names."""
    notify: Callable[[str], None] = lambda line: None
    """Called with a line before each step."""
    rewritten: tuple[LockKey, ...] = ()
    """Entries to write again; they stay in the lock until there is new code for their blocks."""
    only: Callable[[Hole], bool] = lambda hole: True
    """Selects the holes that models are asked for; other holes without locked code are skipped."""


@record
class HoleResult:
    """The result for one hole: a lock entry, or findings with the reasons."""

    entry: LockEntry | None = None
    findings: tuple[Finding, ...] = ()
    note: str = ""
    question: Path | None = None
    """The question in the folder of a writer who has not answered yet."""


@record
class StaticBuild:
    """The result for all holes."""

    lock: StaticLock
    used: tuple[LockEntry, ...] = ()
    """The entries that fill the holes."""
    compiled: Mapping[Unit, Compilation] = field(default_factory=dict)
    """The files with all holes filled or skipped."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    questions: Mapping[Unit, tuple[Path, ...]] = field(default_factory=dict)
    """The open questions of the files that wait for a writer."""


def fill_holes(files: Sequence[StaticFile], lock: StaticLock, request: HoleRequest) -> StaticBuild:
    """Fill the holes in all files, from the lock or by asking models, and compile the files."""
    lock = lock.without_entries(request.rewritten)
    if problems := tuple(problem for file in files for problem in file.find_mode_problems()):
        return StaticBuild(lock, findings=problems)
    holes = [(file, hole) for file in files for hole in file.holes]
    statuses = find_hole_statuses([hole for _, hole in holes], lock)
    to_write = [
        (file, hole)
        for file, hole in holes
        if _needs_generation(hole, statuses[hole.name], request)
    ]
    if to_write:
        import_extra()
        request.keep(lock)  # fails on a read-only disk, before code is paid for
    asked = [pair for pair in to_write if find_folder(pair[1].options.writer) is None]
    new = _take_answers([pair for pair in to_write if pair not in asked], lock, request)
    lock = lock.with_entries(result.entry for result in new.values() if result.entry)
    new |= _generate_all(asked, lock, request)
    results = {
        hole.name: new.get(hole.name)
        or _fill_without_model(file, hole, statuses[hole.name], request)
        for file, hole in holes
    }
    used = tuple(result.entry for result in results.values() if result.entry is not None)
    lock = lock.with_entries(used)
    findings = [finding for result in results.values() for finding in result.findings]
    compiled = {}
    waiting = {
        file.unit: tuple(path for hole in file.holes if (path := results[hole.name].question))
        for file in files
    }
    questions = {unit: paths for unit, paths in waiting.items() if paths}
    for file in [] if findings else [file for file in files if file.unit not in questions]:
        entries = {hole.name: entry for hole in file.holes if (entry := results[hole.name].entry)}
        compiled[file.unit] = _compile_filled(file, entries, findings)
    notes = [result.note for result in results.values() if result.note]
    return StaticBuild(lock, used, compiled, tuple(findings), tuple(notes), questions)


def _compile_filled(
    file: StaticFile, entries: Mapping[str, LockEntry], findings: list[Finding]
) -> Compilation:
    """Compile a file with the code for its holes; its errors are added to the findings."""
    codes = {name: entry.code for name, entry in entries.items() if not entry.live}
    placed = [
        (hole, file.place_code(hole, code, codes.values()))
        for hole in file.holes
        if (code := codes.get(hole.name)) is not None
    ]
    note = describe_authors([*entries.values()])
    compilation = file.compile([code for _, code in placed], note)
    if placed and (problem := find_compile_problem(compilation)):
        alone = ((hole, find_compile_problem(file.compile([code]))) for hole, code in placed)
        hole, reason = next(filter(operator.itemgetter(1), alone), (placed[0][0], problem))
        findings.append(_make_refusal_finding(file, hole, entries[hole.name], reason))
    return compilation


def _needs_generation(hole: Hole, status: HoleStatus, request: HoleRequest) -> bool:
    if request.locked or not request.only(hole) or isinstance(status, Locked):
        return False
    return isinstance(status, Missing) or not status.entry.is_edited


def _fill_without_model(
    file: StaticFile, hole: Hole, status: HoleStatus, request: HoleRequest
) -> HoleResult:
    state = describe_hole_status(status)
    match status:
        case Locked(entry) if entry.live and hole.falls_back_to_live:
            return HoleResult(entry, note=f"{hole.name} {state}")
        case Locked(entry) if entry.live:
            reason = f'the block stays live there ({entry.live}), without fallback="live"'
            return HoleResult(entry, (_make_refusal_finding(file, hole, entry, reason),))
        case Locked(entry):  # the code may have been edited, or checks may have been added
            reasons = file.make_code_check(hole, is_locked=True)(entry.code)
            if not reasons:
                is_unsigned = request.wants_review and hole.needs_review and not entry.is_reviewed
                return HoleResult(entry, _report_unsigned(file, hole) if is_unsigned else ())
            return HoleResult(
                entry, (_make_refusal_finding(file, hole, entry, "; ".join(reasons)),)
            )
        case Stale() | Missing() if not request.only(hole):
            return HoleResult()
        case Stale() | Missing() if request.locked and hole.options.fallback == "live":
            return HoleResult(note=f"{hole.name} stays live: its code is {state}")
        case Stale() | Missing() if request.locked:
            mode = "reviewed" if hole.needs_review else hole.mode
            message = f"the code of `{hole.name}` in njc.lock is {state}"
            hint = (
                f"write it with `njc build --mode {mode}` and commit njc.lock, or let the block run"
                ' live: mode="live" on it'
            )
            if isinstance(status, Stale) and status.entry.is_edited:
                hint = _advise_about_edited(hole.name)
            return HoleResult(findings=(file.make_finding(hole, "NJ402", message, hint),))
        case Stale() | Missing():
            message, hint = f"`{hole.name}` is {state}", _advise_about_edited(hole.name)
            return HoleResult(findings=(file.make_finding(hole, "NJ403", message, hint),))
        case _:
            assert_never(status)


def _advise_about_edited(name: str) -> str:
    return f"`njc lock --update {name}` writes it again, `njc lock --keep {name}` keeps your code"


def _report_unsigned(file: StaticFile, hole: Hole) -> tuple[Finding]:
    message = f"nobody has signed the code of `{hole.name}` as it is in njc.lock"
    hint = f"read it, and sign it by `njc lock --reviewed {hole.name}`"
    return (file.make_finding(hole, "NJ406", message, hint),)


def _make_refusal_finding(
    file: StaticFile, hole: Hole, entry: LockEntry, reasons: str | None
) -> Finding:
    kind = "live" if entry.live else "edited" if entry.is_edited else "locked"
    message = (
        f"the {kind} {'entry' if entry.live else 'code'} of `{hole.name}` is refused: {reasons}"
    )
    hint = f"correct it in njc.lock, or write it again with `njc lock --update {hole.name}`"
    return file.make_finding(hole, "NJ404", message, hint)


def _take_answers(
    holes: Sequence[tuple[StaticFile, Hole]], lock: StaticLock, request: HoleRequest
) -> dict[str, HoleResult]:
    """Take the answers from the folders of writers; each is kept, and then its question deleted."""
    results: dict[str, HoleResult] = {}
    name = " ".join(request.writer_name.split())
    if holes and not name:
        raise ConfigurationError(
            "--writer folder:DIR needs --writer-name NAME: njc.lock says who has written the code"
        )
    for file, hole in holes:
        folder = find_folder(hole.options.writer)
        assert folder is not None
        match take_answer(file, hole, folder):
            case Open(question, reasons):
                shown = f": {'; '.join(reasons)}" if reasons else ""
                note = f"open: {format_path(question)}{shown}"
                results[hole.name] = HoleResult(note=note, question=question)
            case Answer(code):
                cost = GenerationCost(model=name)
                made = Generated(code, (GenerationAttempt(code, ()),), cost)
                entry = make_lock_entry(hole, code, made, request.today())
                results[hole.name] = HoleResult(entry)
                lock = lock.with_entries([entry])
                request.keep(lock)
                remove_question(hole, folder)
    return results


def _generate_all(
    holes: Sequence[tuple[StaticFile, Hole]], lock: StaticLock, request: HoleRequest
) -> dict[str, HoleResult]:
    """Have holes' code written, concurrently if the models allow it; keep each result at once."""
    authors = []
    for file, hole in holes:
        with _explaining_failure(file, hole):
            authors.append(choose_author(file, hole))
    jobs = request.jobs or (DEFAULT_JOBS if all(author.is_remote for author in authors) else 1)
    fillings: dict[str, HoleResult] = {}
    mutex = Mutex()

    def write(file: StaticFile, hole: Hole, author: Author) -> None:
        request.notify(f"writing {hole.name}")
        with _explaining_failure(file, hole):
            filling = _generate_hole(file, hole, author, request)
        with mutex:
            fillings[hole.name] = filling
            entries = [result.entry for result in fillings.values() if result.entry is not None]
            if filling.entry is not None:
                request.keep(lock.with_entries(entries))

    tasks = [(file, hole, author) for (file, hole), author in zip(holes, authors, strict=True)]
    if jobs == 1 or len(tasks) < 2:
        for task in tasks:
            write(*task)
        return fillings
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(carry(write), *task) for task in tasks]
        try:
            for future in running:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return fillings


def _generate_hole(
    file: StaticFile, hole: Hole, author: Author, request: HoleRequest
) -> HoleResult:
    check = file.make_code_check(hole)
    conversation = generate_code(hole, check, request.attempts, author.temperature)
    result = answer_all(conversation, author.ask)
    at = request.keep_attempts(hole, result)
    match result:
        case Generated(code):
            code = normalize_code(code)
            return HoleResult(make_lock_entry(hole, code, result, request.today()))
        case GenerationFailed(attempts) if hole.falls_back_to_live:
            reason = f"no code passed the checks in {format_count(len(attempts), 'attempt')}"
            return _make_live_result(hole, result, request, reason)
        case GenerationFailed(attempts):
            reasons = "; ".join(attempts[-1].verdict) if attempts else "there was no reply"
            message = (
                f"no code for `{hole.name}` passed the checks in"
                f" {format_count(len(attempts), 'attempt')}{f' (all are in {at})' if at else ''};"
                f" the last: {reasons}"
            )
            hint = (
                'make the prompt more precise, let it run live (mode="live"), or set'
                ' fallback="live"'
            )
            return HoleResult(findings=(file.make_finding(hole, "NJ401", message, hint),))
        case _:
            assert_never(result)


def _make_live_result(
    hole: Hole, result: Generated | GenerationFailed, request: HoleRequest, reason: str
) -> HoleResult:
    entry = replace(make_lock_entry(hole, "", result, request.today()), live=reason)
    return HoleResult(entry, note=f"{hole.name} stays live: {reason}")


def make_lock_entry(
    hole: Hole, code: str, result: Generated | GenerationFailed, date: str
) -> LockEntry:
    """Return the entry for a conversation's result."""
    cost = result.cost
    return LockEntry(
        hole.name,
        hole.mode,
        hole.meaning,
        cost.model,
        date,
        len(result.attempts),
        TokenCounts(cost.input, cost.output),
        hash_code(code),
        code,
        cost.usd,
    )


# ── the model that writes a block's code ──────────────────────────────────────────────────────────


@record
class Author:
    """A model, and the temperature that it writes code best at."""

    model: Model
    temperature: float | None
    is_remote: bool
    """Whether a vendor serves the model, and answers several questions concurrently."""

    def ask(self, request: Request) -> Reply:
        """Return the reply; it names the requested model even if the server uses another name.

        A vendor's `gpt-4.1-2025-04-14` is more precise and is kept; a private server's `local` is
        not.
        """
        asked, reply = self.model.name, self.model.ask(request)
        if reply.model.startswith(asked.split("/", 1)[-1]):
            return reply
        return replace(reply, model=f"{asked} ({reply.model})" if reply.model else asked)


@contextmanager
def _explaining_failure(file: StaticFile, hole: Hole) -> Iterator[None]:
    """Add the block, and the ways to build without a model, to an error of its model."""
    try:
        yield
    except (ConfigurationError, ModelError) as error:
        place = f"{file.unit.display_path}:{hole.block.line}"
        error.args = (
            f"{place}: the code of the static block `{hole.name}` cannot be written: {error}; "
            "without a model, build with the code in njc.lock (--locked), or let the block run "
            'live (mode="live")',
        )
        raise


def choose_author(file: StaticFile, hole: Hole) -> Author:
    """Choose the author for a hole."""
    settings = get_settings()
    environment = read_environment_options(os.environ)
    given = settings.options, hole.block.options, environment, file.project
    options = merge_option_layers(*given, DEFAULTS)
    options = replace(options, model=hole.options.writer or options.model)
    meter = Meter(read_limits(options), place=hole.place, around=list_open_meters())
    listener = make_added_listener()
    notified = (Notified(hole.place, listener),) if listener else ()
    recorder = find_recorder(settings, os.environ)
    model = make_layered_model(settings, options, recorder, Metered(meter), *notified)
    temperature = options.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0
    is_remote = settings.model is None and recorder is None and not options.base_url
    return Author(model, temperature, is_remote)
