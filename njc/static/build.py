"""Find or generate the code for all static blocks in a build.

    files + njc.lock  ->  StaticBuild(used, compiled, findings, notes, questions)

Locked code is checked again and used unchanged; missing or stale code is generated. A `locked`
build asks no model and reports missing code. New code is passed to `keep` immediately, so that an
interrupted build can be resumed.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import assert_never

from njc.compiler.compiler import Compilation
from njc.project.build import Finding
from njc.project.report import format_count
from njc.project.units import Unit, format_path
from njc.static.fit import StaticFile, find_compile_problem
from njc.static.folder import Open, find_folder, remove_question, take_answer
from njc.static.generate import MAX_ATTEMPTS, Generated, GenerationCost, generate_code
from njc.static.holes import Hole
from njc.static.lock import LockEntry, StaticLock, TokenCounts, describe_authors, hash_code
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
from njrt.data.options import DEFAULTS, merge_option_layers, read_environment_options
from njrt.data.records import field, record, replace
from njrt.errors import ConfigurationError, ModelError, require_packages
from njrt.log.listeners import make_added_listener
from njrt.models.model import Model, answer_all


@record
class HoleRequest:
    """How a build gets code: only from the lock, or also from models."""

    locked: bool = False
    wants_review: bool = False
    """Whether code of the mode `reviewed` must be signed."""
    attempts: int = MAX_ATTEMPTS
    today: str = ""
    keep: Callable[[Sequence[LockEntry]], None] = lambda entries: None
    """Stores new entries; without any, only checks that it can."""
    writer_name: str = ""
    """Who answers in the folder that the option `writer` names."""
    notify: Callable[[str], None] = lambda line: None
    """Called with a line before each step."""


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
    if problems := tuple(problem for file in files for problem in file.find_mode_problems()):
        return StaticBuild(findings=problems)
    holes = [(file, hole) for file in files for hole in file.holes]
    statuses = find_hole_statuses([hole for _, hole in holes], lock)
    to_write = {name for name, status in statuses.items() if _needs_generation(status)}
    if to_write and not request.locked:
        require_packages("generating code", "njpy[static]", "tomlkit", otherwise=_OTHERWISE)
        request.keep(())  # fails on a read-only disk, before code is paid for
    results: dict[str, HoleResult] = {}
    for file, hole in holes:
        name, folder = hole.name, find_folder(hole.options.writer)
        if request.locked or name not in to_write:
            results[name] = _fill_without_model(file, hole, statuses[name], request)
        elif folder is None:
            results[name] = _generate_code(file, hole, request)
        else:
            results[name] = _take_answer(file, hole, folder, request)
    findings = [finding for result in results.values() for finding in result.findings]
    waiting = {
        file.unit: tuple(path for hole in file.holes if (path := results[hole.name].question))
        for file in files
    }
    questions = {unit: paths for unit, paths in waiting.items() if paths}
    compiled = {}
    for file in [] if findings else [file for file in files if file.unit not in questions]:
        entries = {hole.name: entry for hole in file.holes if (entry := results[hole.name].entry)}
        compiled[file.unit] = _compile_filled(file, entries, findings)
    used = tuple(result.entry for result in results.values() if result.entry is not None)
    notes = [result.note for result in results.values() if result.note]
    return StaticBuild(used, compiled, tuple(findings), tuple(notes), questions)


_OTHERWISE = "build the locked code with --locked"


def _compile_filled(
    file: StaticFile, entries: Mapping[str, LockEntry], findings: list[Finding]
) -> Compilation:
    """Compile a file with the code for its holes; its errors are added to the findings."""
    placed = [
        (hole, file.place_code(hole, entries[hole.name].code))
        for hole in file.holes
        if hole.name in entries
    ]
    note = describe_authors([*entries.values()])
    compilation = file.compile([code for _, code in placed], note)
    if placed and (problem := find_compile_problem(compilation)):
        alone = ((hole, find_compile_problem(file.compile([code]))) for hole, code in placed)
        hole, reason = next(filter(operator.itemgetter(1), alone), (placed[0][0], problem))
        findings.append(_make_refusal_finding(file, hole, entries[hole.name], reason))
    return compilation


def _needs_generation(status: HoleStatus) -> bool:
    return isinstance(status, Missing) or (isinstance(status, Stale) and not status.entry.is_edited)


def _fill_without_model(
    file: StaticFile, hole: Hole, status: HoleStatus, request: HoleRequest
) -> HoleResult:
    name, state = hole.name, describe_hole_status(status)
    match status:
        case Locked(entry):  # the code may have been edited, or checks may have been added
            found = None
            if reasons := file.make_code_check(hole, is_locked=True)(entry.code):
                found = _make_refusal_finding(file, hole, entry, "; ".join(reasons))
            elif request.wants_review and hole.needs_review and not entry.is_reviewed:
                message = f"nobody has signed the code of `{name}` as it is in njc.lock"
                hint = f"read it, and sign it by `njc lock --reviewed {name}`"
                found = file.make_finding(hole, "NJ406", message, hint)
            return HoleResult(entry, (found,) if found else ())
        case Stale(entry) if entry.is_edited:
            hint = f"keep it by `njc lock --keep {name}`, or delete its entry and build again"
            found = file.make_finding(hole, "NJ403", f"the code of `{name}` is {state}", hint)
            return HoleResult(findings=(found,))
        case Stale() | Missing() if hole.options.fallback == "live":
            return HoleResult(note=f"{name} stays live: its code is {state}")
        case Stale() | Missing():
            mode = "reviewed" if hole.needs_review else hole.mode
            hint = (
                f"write it with `njc build --mode {mode}` and commit njc.lock, or let the block run"
                ' live: mode="live" on it'
            )
            message = f"the code of `{name}` in njc.lock is {state}"
            return HoleResult(findings=(file.make_finding(hole, "NJ402", message, hint),))
        case _:
            assert_never(status)


def _make_refusal_finding(
    file: StaticFile, hole: Hole, entry: LockEntry, reasons: str | None
) -> Finding:
    kind = "edited" if entry.is_edited else "locked"
    message = f"the {kind} code of `{hole.name}` is refused: {reasons}"
    hint = "correct it in njc.lock, or delete its entry and build again"
    return file.make_finding(hole, "NJ404", message, hint)


def _take_answer(file: StaticFile, hole: Hole, folder: Path, request: HoleRequest) -> HoleResult:
    """Take the answer from the folder of a writer; it is kept, and then its question deleted."""
    writer = " ".join(request.writer_name.split())
    if not writer:
        raise ConfigurationError(
            "--writer folder:DIR needs --writer-name NAME: njc.lock says who has written the code"
        )
    match take_answer(file, hole, folder):
        case Open(question, reasons):
            shown = f": {'; '.join(reasons)}" if reasons else ""
            return HoleResult(note=f"open: {format_path(question)}{shown}", question=question)
        case code:
            made = Generated(code, 1, GenerationCost())
            entry = make_lock_entry(hole, made, writer, request.today)
            request.keep([entry])
            remove_question(hole, folder)
            return HoleResult(entry)


def _generate_code(file: StaticFile, hole: Hole, request: HoleRequest) -> HoleResult:
    """Have a hole's code written, and keep it at once."""
    request.notify(f"writing {hole.name}")
    with _explaining_failure(file, hole):
        author = choose_author(file, hole)
        check = file.make_code_check(hole)
        conversation = generate_code(hole, check, request.attempts, author.temperature)
        made = answer_all(conversation, author.model.ask)
    attempts = format_count(made.attempts, "attempt")
    if not made.refusals:
        entry = make_lock_entry(hole, made, author.model.name, request.today)
        request.keep([entry])
        return HoleResult(entry)
    if hole.options.fallback == "live":
        return HoleResult(note=f"{hole.name} stays live: no code passed the checks in {attempts}")
    reasons = "; ".join(made.refusals)
    message = f"no code for `{hole.name}` passed the checks in {attempts}; the last: {reasons}"
    hint = 'make the prompt more precise, let it run live (mode="live"), or set fallback="live"'
    return HoleResult(findings=(file.make_finding(hole, "NJ401", message, hint),))


def make_lock_entry(hole: Hole, made: Generated, writer: str, date: str) -> LockEntry:
    """Return the entry for a conversation's result."""
    return LockEntry(
        hole.name,
        hole.mode,
        hole.meaning,
        writer,
        date,
        made.attempts,
        TokenCounts(made.cost.input, made.cost.output),
        hash_code(made.code),
        made.code,
        made.cost.usd,
    )


# ── the model that writes a block's code ──────────────────────────────────────────────────────────


@record
class Author:
    """A model, and the temperature that it writes code best at."""

    model: Model
    temperature: float | None


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
    return Author(model, temperature)
