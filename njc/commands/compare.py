"""`njc compare SRC -- pytest -q`: build in each mode, run a command against each, and report."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.commands.console import Console
from njc.commands.flags import (
    ATTEMPTS,
    JOBS,
    console_flags,
    pass_console,
    project_flags,
    resolve_project,
)
from njc.comparison.results import (
    ComparedRun,
    ModeBuild,
    ModeSummary,
    ModeUsage,
    format_compared_run,
    format_comparison_json,
    parse_compared_runs,
    sum_usage_by_block,
)
from njc.comparison.text import format_comparison_text
from njc.project.build import Finding, is_error, plan_build, write_changes
from njc.project.config import Project
from njc.project.units import SUFFIX, Unit, find_units, format_path
from njc.static.files import fill_units, find_lock_file
from njc.static.lock import LEARNED_SUFFIX, LockEntry, read_lock
from njrt.errors import ConfigurationError, NaturalError
from njrt.options import Mode

MODES: Mapping[str, tuple[Mode, bool]] = {
    "live": ("live", False),
    "static-raw": ("static-raw", False),
    "static": ("static", False),
    "static-learned": ("static", True),
    "auto": ("auto", True),
}
"""What can be compared: the mode to build in, and whether code that was learned comes first."""
NOTHING_LEARNED = "nothing has been learned; `njc static --learn TRACES` does that"
RESULTS_FOLDER = Path(".njc_cache") / "compare"


@click.command("compare", context_settings={"allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, metavar="[SRC]... -- COMMAND...", type=click.UNPROCESSED)
@click.option(
    "-n", "--runs", type=click.IntRange(min=1), default=3, metavar="N", help="Runs in each mode."
)
@click.option(
    "--modes",
    metavar="LIST",
    help=f"The modes, separated by commas: {', '.join(MODES)}; by default all that there is code for.",
)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), metavar="FILE", help="Write JSON too."
)
@click.option(
    "--html", "html_file", type=click.Path(path_type=Path), metavar="FILE", help="Write a page too."
)
@click.option(
    "--fresh", is_flag=True, help="Forget the runs of an earlier, interrupted comparison."
)
@ATTEMPTS
@JOBS
@project_flags
@console_flags
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    arguments: Sequence[str],
    runs: int,
    modes: str | None,
    json_file: Path | None,
    html_file: Path | None,
    fresh: bool,
    attempts: int,
    jobs: int | None,
    **flags: Any,
) -> None:
    """Build the program in each mode, run COMMAND against each, and compare.

    COMMAND finds the compiled files first on PYTHONPATH; where it says `{out}`, it gets their directory. It
    passes if it exits with 0. Runs that are done are kept, so the same comparison goes on where it stopped.
    """
    sources, words = _split_arguments(arguments)
    if shutil.which(words[0]) is None:
        raise ConfigurationError(f"there is no command `{words[0]}`")
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    chosen = _parse_modes(modes) if modes else _list_available_modes(units, project)
    folder = RESULTS_FOLDER / _compute_digest(units, words, project)
    if fresh:
        with suppress(FileNotFoundError):
            (folder / "trials.jsonl").unlink()
    rows = []
    for mode in chosen:
        out = (folder / mode).absolute()
        build = _build_mode(console, units, project, mode, out, attempts, jobs)
        trials = () if build.failure else tuple(_run_all(console, mode, words, out, folder, runs))
        rows.append(ModeSummary(mode, build, trials))
    said = shlex.join(words)
    console.result(format_comparison_text(rows))
    if json_file:
        json_file.write_text(format_comparison_json(rows, said) + "\n", encoding="utf-8")
    if html_file:
        from njc.comparison.page import render_comparison_page

        html_file.write_text(render_comparison_page(rows, said), encoding="utf-8")
    for file in filter(None, (json_file, html_file)):
        console.note(f"written: {format_path(file.absolute())}")


def _split_arguments(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Tell the sources from the command; without sources click has eaten the `--`."""
    words = list(arguments)
    sources: list[str] = []
    if "--" in words:
        at = words.index("--")
        sources, words = words[:at], words[at + 1 :]
    if not words or Path(words[0]).is_dir() or words[0].endswith(SUFFIX):
        raise ConfigurationError(
            "nothing says what to run; write it behind `--`, such as `njc compare src -- pytest -q`"
        )
    if any(each.startswith("-") for each in sources):
        raise ConfigurationError("flags go before SRC: `njc compare -n 5 src -- pytest -q`")
    return [Path(each) for each in sources], words


def _list_available_modes(units: Sequence[Unit], project: Project) -> list[str]:
    """All modes, without that of learned code where nothing has been learned."""
    lock = read_lock(find_lock_file(units, project))
    learned = any(each.mode.endswith(LEARNED_SUFFIX) for each in lock.entries.values())
    return [mode for mode in MODES if learned or mode != "static-learned"]


def _parse_modes(text: str) -> list[str]:
    modes = [each.strip() for each in text.split(",") if each.strip()]
    for mode in modes:
        if mode not in MODES:
            raise ConfigurationError(f"no mode `{mode}`; the modes are {', '.join(MODES)}")
    return [mode for mode in MODES if mode in modes]


def _compute_digest(units: Sequence[Unit], words: Sequence[str], project: Project) -> str:
    """A name for this comparison: other sources, options or commands are another one."""
    parts = [
        *(unit.path.encode() + unit.source.read_bytes() for unit in units),
        repr(words).encode(),
    ]
    parts.append(repr(project.options).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _build_mode(
    console: Console,
    units: Sequence[Unit],
    project: Project,
    mode: str,
    out: Path,
    attempts: int,
    jobs: int | None,
) -> ModeBuild:
    """Build in one mode; what goes wrong is a result."""
    kind, learned = MODES[mode]
    began = time.monotonic()
    there = replace(project, options=replace(project.options, mode=kind), out=out)
    moved = find_units([unit.source for unit in units], there)
    failure, used = "", tuple[LockEntry, ...]()
    console.note(f"{mode}: building")
    try:
        static = fill_units(
            moved, there, learned=learned, attempts=attempts, jobs=jobs, told=console.note
        )
        failure, used = _format_findings(static.findings), static.used
        if mode == "static-learned" and not any(entry.score for entry in used):
            failure = failure or NOTHING_LEARNED
        if not failure:
            build = plan_build(moved, there, force=True, jobs=1, compiled=static.compiled)
            failure = _format_findings(filter(is_error, build.findings))
            if not failure:
                write_changes(build)
    except NaturalError as error:
        failure = str(error)
    # What the code took to write, whenever that was: an interrupted comparison goes on with all it knows.
    usage = sum(
        (
            ModeUsage(each.attempts, each.tokens.input, each.tokens.output, each.usd or 0.0)
            for each in used
        ),
        ModeUsage(),
    )
    return ModeBuild(time.monotonic() - began, usage, failure)


def _format_findings(findings: Iterable[Finding]) -> str:
    return "; ".join(
        f"{each.diagnostic.path}:{each.diagnostic.line}: {each.diagnostic.message}"
        for each in findings
    )


def _run_all(
    console: Console, mode: str, words: Sequence[str], out: Path, folder: Path, runs: int
) -> Iterator[ComparedRun]:
    """Run the command as often as asked for, leaving out what was run before."""
    kept = folder / "trials.jsonl"
    done = {}
    with suppress(FileNotFoundError):
        trials = parse_compared_runs(kept.read_text(encoding="utf-8").splitlines())
        done = {each.number: each for each in trials if each.mode == mode}
    for number in range(1, runs + 1):
        if number not in done:
            done[number] = _run_command(mode, number, words, out, folder)
            with kept.open("a", encoding="utf-8") as file:
                file.write(format_compared_run(done[number]) + "\n")
        trial = done[number]
        verdict = "passed" if trial.passed else f"failed ({trial.exit_code})"
        console.note(
            f"{mode} {number}/{runs}: {verdict} in {trial.seconds:.1f} s, {trial.usage.calls} calls"
        )
        yield trial


def _run_command(
    mode: str, number: int, words: Sequence[str], out: Path, folder: Path
) -> ComparedRun:
    trace = (folder / f"{mode}-{number}.trace.jsonl").absolute()
    trace.unlink(missing_ok=True)
    path = os.pathsep.join(filter(None, [str(out), os.environ.get("PYTHONPATH")]))
    began = time.monotonic()
    with (folder / f"{mode}-{number}.log").open("wb") as log:
        done = subprocess.run(
            [word.replace("{out}", str(out)) for word in words],
            # Live means live: the pytest plugin would have the tests replay recordings.
            env={"NJC_RECORD": "off", **os.environ, "PYTHONPATH": path, "NJC_TRACE": str(trace)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - began
    lines = trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []
    code = done.returncode
    return ComparedRun(mode, number, code == 0, code, seconds, sum_usage_by_block(lines))
