"""`njc compare SRC -- pytest -q`: build in each mode, run a command against each, and report."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from njc.build import build_of, write
from njc.commands.flags import ATTEMPTS, pass_console, project_flags, project_for, speaking
from njc.comparison import (
    Built,
    Row,
    Trial,
    Usage,
    as_json,
    as_text,
    trial_line,
    trial_of,
    usage_by_block,
)
from njc.config import Project
from njc.console import Console
from njc.lock import read_lock
from njc.plan import SUFFIX, Unit, shown, units_of
from njrt.errors import ConfigurationError, NaturalError
from njrt.options import Mode

MODES: tuple[Mode, ...] = ("live", "static-raw", "static", "auto")
FOLDER = Path(".njc_cache") / "compare"


@click.command("compare", context_settings={"allow_interspersed_args": False})
@click.argument("arguments", nargs=-1, metavar="[SRC]... -- COMMAND...", type=click.UNPROCESSED)
@click.option(
    "-n", "--runs", type=click.IntRange(min=1), default=3, metavar="N", help="Runs in each mode."
)
@click.option(
    "--modes", default=",".join(MODES), metavar="LIST", help="The modes, separated by commas."
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
@project_flags
@speaking
@pass_console
@click.pass_context
def command(
    ctx: click.Context,
    console: Console,
    /,
    arguments: Sequence[str],
    runs: int,
    modes: str,
    json_file: Path | None,
    html_file: Path | None,
    fresh: bool,
    attempts: int,
    **flags: Any,
) -> None:
    """Build the program in each mode, run COMMAND against each, and compare.

    COMMAND finds the compiled files first on PYTHONPATH; where it says `{out}`, it gets their directory. It
    passes if it exits with 0. Runs that are done are kept, so the same comparison goes on where it stopped.
    """
    sources, words = _split(arguments)
    if shutil.which(words[0]) is None:
        raise ConfigurationError(f"there is no command `{words[0]}`")
    project = project_for(sources, flags)
    units = units_of(sources, project)
    chosen = _modes(modes)
    folder = FOLDER / _digest(units, words, project)
    if fresh:
        with suppress(FileNotFoundError):
            (folder / "trials.jsonl").unlink()
    rows = []
    for mode in chosen:
        out = (folder / mode).absolute()
        build = _built(console, units, project, mode, out, attempts)
        trials = () if build.failure else tuple(_trials(console, mode, words, out, folder, runs))
        rows.append(Row(mode, build, trials))
    said = shlex.join(words)
    console.result(as_text(rows))
    if json_file:
        json_file.write_text(as_json(rows, said) + "\n", encoding="utf-8")
    if html_file:
        from njc.comparison_page import page

        html_file.write_text(page(rows, said, _summary(rows)), encoding="utf-8")
    for file in filter(None, (json_file, html_file)):
        console.note(f"written: {shown(file.absolute())}")


def _split(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
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


def _modes(text: str) -> list[Mode]:
    modes = [each.strip() for each in text.split(",") if each.strip()]
    for mode in modes:
        if mode not in MODES:
            raise ConfigurationError(f"no mode `{mode}`; the modes are {', '.join(MODES)}")
    return [mode for mode in MODES if mode in modes]


def _digest(units: Sequence[Unit], words: Sequence[str], project: Project) -> str:
    """A name for this comparison: other sources, options or commands are another one."""
    parts = [
        *(unit.path.encode() + unit.source.read_bytes() for unit in units),
        repr(words).encode(),
    ]
    parts.append(repr(project.options).encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _built(
    console: Console,
    units: Sequence[Unit],
    project: Project,
    mode: Mode,
    out: Path,
    attempts: int,
) -> Built:
    """Build in one mode; what goes wrong is a result."""
    from njc.static.files import filled, lock_file

    began = time.monotonic()
    there = replace(project, options=replace(project.options, mode=mode), out=out)
    moved = units_of([unit.source for unit in units], there)
    before = read_lock(lock_file(moved, there))
    failure = ""
    console.note(f"{mode}: building")
    try:
        static = filled(moved, there, attempts=attempts, told=console.detail)
        failure = "; ".join(map(str, static.problems))
        if not failure:
            build = build_of(moved, there, force=True, jobs=1, written=static.written)
            failure = "; ".join(
                each.diagnostic.message for each in build.findings if build.has_errors
            )
            if not failure:
                write(build)
    except NaturalError as error:
        failure = str(error)
    after = read_lock(lock_file(moved, there))
    new = [each for key, each in after.entries.items() if before.entries.get(key) != each]
    usage = sum(
        (
            Usage(each.attempts, each.input_tokens, each.output_tokens, each.usd or 0.0)
            for each in new
        ),
        Usage(),
    )
    return Built(time.monotonic() - began, usage, failure)


def _trials(
    console: Console, mode: str, words: Sequence[str], out: Path, folder: Path, runs: int
) -> Iterator[Trial]:
    """Run the command as often as asked for, leaving out what was run before."""
    kept = folder / "trials.jsonl"
    done = {}
    with suppress(FileNotFoundError):
        trials = map(trial_of, kept.read_text(encoding="utf-8").splitlines())
        done = {each.number: each for each in trials if each.mode == mode}
    for number in range(1, runs + 1):
        if number not in done:
            done[number] = _trial(mode, number, words, out, folder)
            with kept.open("a", encoding="utf-8") as file:
                file.write(trial_line(done[number]) + "\n")
        trial = done[number]
        verdict = "passed" if trial.passed else f"failed ({trial.exit_code})"
        console.note(
            f"{mode} {number}/{runs}: {verdict} in {trial.seconds:.1f} s, {trial.usage.calls} calls"
        )
        yield trial


def _trial(mode: str, number: int, words: Sequence[str], out: Path, folder: Path) -> Trial:
    trace = (folder / f"{mode}-{number}.trace.jsonl").absolute()
    trace.unlink(missing_ok=True)
    path = os.pathsep.join(filter(None, [str(out), os.environ.get("PYTHONPATH")]))
    began = time.monotonic()
    with (folder / f"{mode}-{number}.log").open("wb") as log:
        done = subprocess.run(
            [word.replace("{out}", str(out)) for word in words],
            env={**os.environ, "PYTHONPATH": path, "NJC_TRACE": str(trace)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - began
    lines = trace.read_text(encoding="utf-8").splitlines() if trace.exists() else []
    code = done.returncode
    return Trial(mode, number, code == 0, code, seconds, usage_by_block(lines))


def _summary(rows: Sequence[Row]) -> str:
    """What someone who has to choose should know first."""
    ran = [row for row in rows if row.trials]
    if not ran:
        return "No mode could be built."
    best = max(row.passed / len(row.trials) for row in ran)
    good = [row for row in ran if row.passed / len(row.trials) == best]
    fastest = min(good, key=lambda row: row.seconds or 0.0)
    names = ", ".join(row.mode for row in good)
    runs = max(len(row.trials) for row in ran)
    return (
        f"The best pass rate, {best:.0%} of {runs} runs, is that of {names}; of these, {fastest.mode} "
        f"is the fastest ({fastest.seconds:.2f} s, {fastest.usage.calls} model calls a run). "
        "Intervals that overlap mean that more runs are needed to tell two modes apart."
    )
