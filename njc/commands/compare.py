"""`njc compare SRC -- pytest -q`: run a command on a build in each mode and compare the results."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import (
    COUNT,
    MODES,
    parse_modes,
    project_flags,
    resolve_project,
    with_console,
)
from njc.commands.terminal.status_line import show_status
from njc.debug.trace_lines import read_written_trace
from njc.measure.built_imports.account import find_import_problem, make_build_environment
from njc.measure.comparison.results import (
    ComparedRun,
    ModeBuild,
    ModeSummary,
    read_tests,
    sum_usage,
)
from njc.measure.comparison.text import format_comparison_text
from njc.project.build import read_source
from njc.project.config import LOCK_FILE_NAME, Project, get_lock_path
from njc.project.outputs import write_all
from njc.project.report import format_count
from njc.project.units import SUFFIX, Unit, find_units, format_path
from njc.static.build import HoleRequest
from njc.static.lock import LockEntry, StaticLock, format_lock, read_lock
from njc.static.write import fill_units, format_finding_messages, write_static_build
from njrt.errors import ConfigurationError, NaturalError

RESULTS_FOLDER = Path(".njc_cache") / "compare"


@click.command("compare", context_settings={"allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, metavar="[SRC]... -- COMMAND...", type=click.UNPROCESSED)
@click.option(
    "-n", "--runs", type=COUNT, default=3, metavar="N", help="Runs in each mode (default: 3)."
)
@MODES
@project_flags
@with_console
def command(
    console: Console,
    arguments: Sequence[str],
    runs: int,
    modes: str | None,
    **flags: Any,
) -> int:
    """Build in each mode, run COMMAND on each build, and compare.

    COMMAND imports the compiled files; `{out}` in it is their directory. Counted are the tests
    that pytest reports; the exit code counts for another command. A run that did not import the
    compiled files ends the comparison.

    Modes: live, static, reviewed. The default is all. The exit code is 1 if no mode can be built.
    """
    sources, words = _split_arguments(arguments)
    if shutil.which(words[0]) is None:
        raise ConfigurationError(f"there is no command `{words[0]}`")
    project = resolve_project(sources, flags)
    units = find_units(sources, project)
    chosen = parse_modes(modes)
    folder = RESULTS_FOLDER / _compute_digest(units, words, project)
    rows, lock_file = [], folder.absolute() / LOCK_FILE_NAME
    before = copy_lock(get_lock_path(project, units[0].root), lock_file)
    for mode in chosen:
        options = replace(project.options, mode=mode)
        target = replace(project, options=options, out=(folder / mode).absolute())
        request = HoleRequest(notify=console.note)
        console.note(f"{mode}: building")
        with show_status(console):
            units = find_units(sources, target)
            build = _build_mode(units, target, request, lock_file)
        done = () if build.failure else tuple(_run_all(console, target, units, words, runs))
        rows.append(ModeSummary(mode, build, done))
    console.result(format_comparison_text(rows))
    if read_lock(lock_file) != before:
        console.note(f"written: {format_path(lock_file)}")
    return int(all(row.build.failure for row in rows))


def _split_arguments(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Separate the sources from the command; without sources, click has removed the `--`."""
    words = list(arguments)
    sources: list[str] = []
    if "--" in words:
        at = words.index("--")
        sources, words = words[:at], words[at + 1 :]
    if not words or Path(words[0]).is_dir() or words[0].endswith(SUFFIX):
        raise ConfigurationError(
            "no command to run; write it after `--`, such as `njc compare src -- pytest -q`"
        )
    if any(source.startswith("-") for source in sources):
        raise ConfigurationError("flags go before SRC: `njc compare -n 5 src -- pytest -q`")
    return list(map(Path, sources)), words


def _compute_digest(units: Sequence[Unit], words: Sequence[str], project: Project) -> str:
    """Return a name for this comparison, from its sources, options and command."""
    parts = [unit.path.encode() + read_source(unit).data for unit in units]
    parts += [repr(words).encode(), repr(project.options).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def copy_lock(file: Path, copy: Path) -> StaticLock:
    """Copy the project's lock, and add code that an earlier comparison wrote; return the first."""
    lock, earlier = read_lock(file), read_lock(copy)
    added = [
        entry
        for key, entry in earlier.entries.items()
        if key not in lock.entries or lock.entries[key].meaning != entry.meaning
    ]
    write_all({copy: format_lock(lock.with_entries(added)).encode()})
    return lock


def _build_mode(
    units: Sequence[Unit], project: Project, request: HoleRequest, lock_file: Path
) -> ModeBuild:
    """Build in one mode; an error becomes the build's `failure`."""
    began = time.monotonic()
    failure, used = "", tuple[LockEntry, ...]()
    try:
        static = fill_units(units, project, request, lock_file)
        failure, used = format_finding_messages(static.findings), static.used
        if not failure:
            failure = format_finding_messages(write_static_build(units, project, static))
    except NaturalError as error:
        failure = str(error)
    tokens = sum(entry.tokens.input + entry.tokens.output for entry in used)
    prices = [entry.usd for entry in used]
    usd = None if None in prices or not prices else sum(filter(None, prices))
    return ModeBuild(time.monotonic() - began, tokens, failure, usd)


def _run_all(
    console: Console, project: Project, units: Sequence[Unit], words: Sequence[str], runs: int
) -> Iterator[ComparedRun]:
    """Yield the command's runs; raises ConfigurationError if a run did not use the build."""
    assert project.out is not None, "a comparison has a directory"
    mode = project.out.name
    command = [word.replace("{out}", str(project.out)) for word in words]
    for number in range(1, runs + 1):
        log = project.out.parent / f"{mode}-{number}.log"
        trace, began = log.with_suffix(".trace.jsonl"), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            environment = make_build_environment(units, project.out, Path(folder))
            report = log.with_suffix(".tests.xml")
            report.unlink(missing_ok=True)
            added = f"--junitxml={shlex.quote(str(report))}"
            environment["PYTEST_ADDOPTS"] = (
                f"{os.environ.get('PYTEST_ADDOPTS', '')} {added}".strip()
            )
            code = _run_traced(command, trace, log, environment)
            seconds = time.monotonic() - began
            problem = find_import_problem(Path(folder))
        if problem:
            raise ConfigurationError(
                f"run {number} of {mode} (exit code {code}) did not measure the build: {problem}; "
                f"its output is in {format_path(log)}"
            )
        used = sum_usage(read_written_trace(trace))
        run = ComparedRun(code, seconds, used, read_tests(report))
        verdict = "passed" if code == 0 else f"failed ({code})"
        if run.tests:
            verdict = (
                f"{sum(run.verdicts.values())} of {format_count(len(run.tests), 'test')} passed"
            )
        output = "" if code == 0 else f"; output: {format_path(log)}"
        calls = f"{run.usage.calls} calls{output}"
        console.note(f"{mode} {number}/{runs}: {verdict} in {seconds:.1f} s, {calls}")
        yield run


def _run_traced(words: Sequence[str], trace: Path, log: Path, environ: Mapping[str, str]) -> int:
    """Run a command that writes a trace, with its output in a log; return the exit code."""
    trace.unlink(missing_ok=True)
    with log.open("wb") as output:
        return subprocess.run(
            words,
            env={**environ, "NJC_TRACE": str(trace)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
