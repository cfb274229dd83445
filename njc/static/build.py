"""Finding or generating the code of all static blocks of a build: the edge where models are asked.

    units + njc.lock  ->  StaticBuild(written, lock, problems, notes)

What is locked is used as it is, and checked again; what is missing or stale is generated, unless the build
is `locked`: then nothing is asked and all that is missing is named. Each piece of new code is handed to
`keep` at once, so that a build that is interrupted goes on where it was.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from njc.blocks import NaturalBlock
from njc.compiler import compile_source
from njc.lock import Entry, Lock, digest_of, with_entries
from njc.lower import WrittenBlock, aliases_for
from njc.parse import Module, may_hold_blocks, parse
from njc.plan import Unit
from njc.source import SourceFile
from njc.static.gaps import Gap, gaps_in
from njc.static.generate import (
    MOST_ATTEMPTS,
    Check,
    Failed,
    Generated,
    Generation,
    generating,
)
from njc.static.place import placed, tried
from njc.static.plan import Locked, Missing, Stale, Standing, explained, standings
from njc.static.settle import require_extra, settled, unrenamable
from njc.static.validate import refusals
from njrt.limits import Meter, limits_of, meters_around
from njrt.models.model import Layered, Model
from njrt.options import DEFAULTS, Options, nearest, options_in
from njrt.session import Metered
from njrt.settings import layers_here, model_here, recorder_for, settings_here

JUDGEMENT = "it needs judgement: its code would ask a model each time"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file with blocks that are to become code."""

    unit: Unit
    module: Module
    blocks: tuple[NaturalBlock, ...]
    gaps: tuple[Gap, ...]
    project: Options

    @property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        """The classes at the top of the file, by name."""
        return {each.name: each for each in self.module.tree.body if isinstance(each, ast.ClassDef)}


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a gap cannot be filled."""

    unit: Unit
    gap: Gap
    message: str

    def __str__(self) -> str:
        return f"{self.unit.shown}:{self.gap.block.line}: error: {self.message}"


@dataclass(frozen=True, slots=True)
class Request:
    """What a build asks for: only what is locked, or new code in so many attempts."""

    locked: bool = False
    attempts: int = MOST_ATTEMPTS
    today: Callable[[], str] = lambda: ""
    keep: Callable[[Lock], None] = lambda lock: None
    keep_attempts: Callable[[Gap, Failed | Generated], str] = lambda gap, result: ""
    """Takes the attempts of a conversation; says where they can be read."""
    told: Callable[[str], None] = lambda line: None
    """Is told what is being done."""
    only: Callable[[Gap], bool] = lambda gap: True
    """Which gaps models are asked for; others that are not locked are passed over."""


@dataclass(slots=True)
class StaticBuild:
    """What has become of the gaps so far."""

    lock: Lock
    written: dict[Unit, list[WrittenBlock]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def static_file(unit: Unit, source: SourceFile, project: Options) -> StaticFile | None:
    """Find the gaps of a file; None where there are none, or where it cannot be compiled anyway."""
    is_static = project.mode not in (None, "live")
    if not may_hold_blocks(source.data) or not (is_static or b"mode" in source.data):
        return None
    compilation = compile_source(source, project=project)
    module = parse(source)
    if compilation.output is None or not isinstance(module, Module):
        return None
    gaps = tuple(gaps_in(module, compilation.blocks, project))
    return StaticFile(unit, module, compilation.blocks, gaps, project) if gaps else None


def static_build(files: Sequence[StaticFile], lock: Lock, request: Request) -> StaticBuild:
    """Fill the gaps of all files, from the lock or by asking models."""
    build = StaticBuild(lock)
    standing = standings([gap for file in files for gap in file.gaps], lock)
    if not request.locked and not all(isinstance(each, Locked) for each in standing.values()):
        require_extra()
    for file in files:
        build.written[file.unit] = []
        for gap in file.gaps:
            _fill(file, gap, standing[gap.name], request, build)
    return build


def _fill(
    file: StaticFile, gap: Gap, standing: Standing, request: Request, build: StaticBuild
) -> None:
    """Fill one gap, or note why not."""
    problem = partial(Problem, file.unit, gap)
    match standing:
        case Locked(entry):
            build.lock = with_entries(build.lock, [entry])
            build.problems += [problem(each) for each in _place_locked(file, gap, entry, build)]
        case Stale() | Missing() if not request.only(gap):
            return
        case Stale() | Missing() if request.locked:
            build.problems.append(
                problem(
                    f"`{gap.name}` is not locked for mode {gap.mode}; {explained(standing)}; "
                    "build without --locked, and commit njc.lock"
                )
            )
        case Stale(entry) if entry.is_edited:
            build.problems.append(
                problem(
                    f"`{gap.name}` is {explained(standing)}; `njc lock --update {gap.name}` has it "
                    f"written anew, `njc lock --keep {gap.name}` keeps your code"
                )
            )
        case Stale() | Missing():
            _generate(file, gap, request, build)


def _place_locked(file: StaticFile, gap: Gap, entry: Entry, build: StaticBuild) -> list[str]:
    """Put locked code in its place, unless a check refuses it."""
    if entry.live:
        return []
    reasons = check_for(file, gap, settle=False)(entry.code)
    if reasons:
        whose = "edited" if entry.is_edited else "locked"
        return [
            f"the {whose} code of `{gap.name}` is refused: {'; '.join(reasons)}; "
            f"mend it in njc.lock, or have it written anew by `njc lock --update {gap.name}`"
        ]
    build.written[file.unit].append(_placed(file, gap, entry.code))
    return []


def _generate(file: StaticFile, gap: Gap, request: Request, build: StaticBuild) -> None:
    """Have a model write the code of a gap, and lock it."""
    request.told(f"writing {gap.name}")
    result = _answered(file, gap, request)
    at = request.keep_attempts(gap, result)
    match result:
        case Generated(code) if _judges(gap, code):
            entry = replace(entry_of(gap, "", result, request.today()), live=JUDGEMENT)
            build.notes.append(f"{gap.name} stays live: {JUDGEMENT}")
        case Generated(code):
            code = settled(code, gap)
            build.written[file.unit].append(_placed(file, gap, code))
            entry = entry_of(gap, code, result, request.today())
        case Failed(attempts) if gap.options.fallback == "live":
            reason = f"no code passed the checks in {len(attempts)} attempts"
            build.notes.append(f"{gap.name} stays live: {reason}")
            entry = replace(entry_of(gap, "", result, request.today()), live=reason)
        case Failed(attempts):
            reasons = "; ".join(attempts[-1].refusals) if attempts else "nothing was said"
            build.problems.append(
                Problem(
                    file.unit,
                    gap,
                    f"no code for `{gap.name}` passed the checks in {len(attempts)} attempts"
                    f"{f' (all are in {at})' if at else ''}; the last: {reasons}; say more in the prompt, "
                    'let it run live (mode="live"), or say fallback="live"',
                )
            )
            return
    build.lock = with_entries(build.lock, [entry])
    request.keep(build.lock)


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


def check_for(file: StaticFile, gap: Gap, *, settle: bool = True) -> Check:
    """The checks of a gap: all of them, or in the raw mode only that it is Python."""

    def in_place(code: str) -> str | None:
        if settle and (names := unrenamable(code, gap)):
            return f"`{names[0]}` means something else in the program around: choose another name"
        return _complaint_in_place(file, gap, settled(code, gap) if settle else code)

    def check(code: str) -> tuple[str, ...]:
        if gap.mode == "static-raw":
            return _not_python(code)
        if not _not_python(code) and _judges(gap, code):
            return ()
        return refusals(code, gap, file.classes, in_place)

    return check


def _not_python(code: str) -> tuple[str, ...]:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        return (f"not Python: {error}",)
    return ()


def _complaint_in_place(file: StaticFile, gap: Gap, code: str) -> str | None:
    """Compile the whole file with the code in its place."""
    source = file.module.source
    compilation = compile_source(source, project=file.project, written=[_placed(file, gap, code)])
    if compilation.output is None:
        return "; ".join(each.message for each in compilation.diagnostics)
    text = compilation.output.decode(source.encoding)
    try:
        compile(text, source.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = (getattr(error, "text", None) or "").strip()
        message = getattr(error, "msg", None) or str(error)
        return f"in its place in the program: {message}{f': `{line}`' if line else ''}"
    return None


def _placed(file: StaticFile, gap: Gap, code: str) -> WrittenBlock:
    runtime = aliases_for(file.module.source.text).runtime
    if gap.mode == "auto":
        return tried(code, gap, runtime)
    return placed(code, gap, file.project, runtime)


def _judges(gap: Gap, code: str) -> bool:
    """Whether the code would ask a model: what needs judgement is left to the live block."""
    return gap.mode == "auto" and any(
        isinstance(node, ast.Name) and node.id == gap.helper for node in ast.walk(ast.parse(code))
    )


def _answered(file: StaticFile, gap: Gap, request: Request) -> Generated | Failed:
    """Drive the conversation about a gap with the model that its options choose."""
    settings = settings_here()
    options = nearest(
        settings.options,
        gap.block.options,
        options_in(os.environ),
        file.project,
        DEFAULTS,
    )
    recorder = recorder_for(settings, os.environ)
    model = model_here(settings, options, recorder)
    meter = Meter(limits_of(options), place=gap.place, around=meters_around())
    layers = layers_here(settings, options, model, recorder)
    most = 1 if gap.mode == "static-raw" else request.attempts
    temperature = options.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0
    generation = generating(gap, check_for(file, gap), most, temperature)
    return driven(generation, Layered(model, (Metered(meter), *layers)))


def driven(generation: Generation, model: Model) -> Generated | Failed:
    """Answer all that a conversation asks."""
    try:
        request = next(generation)
        while True:
            request = generation.send(model.ask(request))
    except StopIteration as end:
        result = end.value
        assert isinstance(result, Generated | Failed)
        return result
