"""`njc eval mail.njpy:route cases.jsonl`: a function's pass rate on cases, with models and versions side by side."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import click

from njc.commands.terminal.console import Console, ProgressLine, ending_by_exception
from njc.commands.terminal.flags import CASE_JOBS, CASES, FILE, REPEATS, TARGET, with_console
from njc.evaluation.cases.case_file import NumberedCase, format_case, read_cases
from njc.evaluation.cases.runner import (
    VERSION_VARIABLE,
    CaseResult,
    CaseResults,
    accept_case,
    asking,
    collect_results,
    compute_program_digest,
    find_replayed_recording,
    list_planned_runs,
    run_cases,
    run_eval_process,
    set_variable,
)
from njc.evaluation.cases.summary import (
    Summary,
    compare_versions,
    format_failures,
    format_table,
    format_warnings,
    name_models,
    render_page,
)
from njc.evaluation.comparison.results import ResultFile, check_gates, check_report, parse_gates
from njc.project.outputs import check_output, write_all, write_report
from njc.project.report import format_count
from njc.project.units import SUFFIX
from njc.target import TargetFunction, get_target, make_absolute
from njrt.errors import ConfigurationError
from njrt.private_files import lock_folder
from njrt.session.layered_model import find_recorder
from njrt.session.settings import get_settings


@click.command("eval")
@TARGET
@CASES
@REPEATS
@click.option("--model", "models", multiple=True, metavar="A,B", help="Models to compare.")
@click.option("--against", metavar="REF", help="Compare with the program at a git reference.")
@click.option("--gate", "gates", multiple=True, metavar="pass^K>=X", help="Fail if fewer pass.")
@click.option("-o", "--out", type=FILE, help="File of results (default: CASES.results.jsonl).")
@click.option("--html", type=FILE, help="Write a page with the failures and prompts.")
@CASE_JOBS
@click.option("--accept", is_flag=True, help="Write results of cases that expect nothing.")
@click.option("--fresh", is_flag=True, help="Discard the results of an earlier run.")
@with_console
def command(
    console: Console,
    target: str,
    cases: Path,
    repeats: int,
    models: Sequence[str],
    against: str | None,
    gates: Sequence[str],
    out: Path | None,
    html: Path | None,
    jobs: int,
    accept: bool,
    fresh: bool,
) -> int:
    """Call FUNCTION for each case of the file CASES, and count what passes.

    A case is a JSON object: {"inputs": {...}, "expect": RESULT}, or with "after" or "check". Results are
    kept, and an interrupted command continues with the missing ones.
    """
    shown, place = target, out or cases.with_name(f"{cases.stem}.results.jsonl")
    # The program may change the working directory.
    target, cases = make_absolute(target), cases.absolute()
    out = place.absolute()
    html = None if html is None else html.absolute()
    conditions = parse_gates(gates, (), repeats, "--repeats")
    inputs = (cases, Path(target.rpartition(":")[0]))
    check_report(html, inputs, "jinja2")
    if html == out:
        raise ConfigurationError("--html and --out name the same file")
    names = list(dict.fromkeys(filter(None, ",".join(models).split(",")))) or [""]
    if accept:
        if len(names) > 1:
            raise ConfigurationError("--accept takes the results of one model; name one")
        with asking(names[0]):
            console.note(_accept_results(get_target(target), cases, names[0]))
        if recorder := find_recorder(get_settings(), os.environ):
            recorder.rewind()  # the accepted runs are evaluated too
    numbered = read_cases(cases)
    results = ResultFile(out, CaseResult)
    check_output(results.path, *inputs)
    if fresh:
        results.path.unlink(missing_ok=True)
    versions = []
    here: AbstractContextManager[None] = nullcontext()
    if against is not None:
        file = Path(target.rpartition(":")[0]).absolute()
        root = Path(_call_git(file.parent, "rev-parse", "--show-toplevel").strip())
        here = set_variable(VERSION_VARIABLE, _compute_version(root))
        with ending_by_exception():  # so that the other version's files are removed
            versions = [_evaluate_version(against, root, target, cases, results, repeats, names, jobs)]  # fmt: skip
    results.read()
    with here:
        digest = _run_missing(console, target, numbered, results, repeats, names, jobs)
    labels = [(digest, " now" * bool(versions)), *((it, f" at {against}") for it in versions)]
    found = [
        (name, label, collect_results(results, version, numbered, name, repeats))
        for version, label in labels
        for name in names
    ]
    summaries = [Summary((name or name_models(its)) + label, its) for name, label, its in found]
    times = f", {repeats} times" if repeats > 1 else ""
    title = f"{shown} on {format_count(len(numbered), 'case')}{times}"
    console.result(f"{title}\n\n{format_table(summaries)}")
    for lines in (format_failures(numbered, summaries), format_warnings(numbered, summaries)):
        if text := "\n".join(lines):
            console.result(f"\n{text}")
    for after, before in zip(summaries, summaries[len(names) :], strict=False):
        console.result(f"\n{compare_versions(before, after)}")
    if html is not None:
        write_report(html, render_page(title, numbered, summaries))
    checked = check_gates(conditions, summaries[: len(names)])
    console.note("\n".join(map(str, checked)))
    return int(not all(result.holds for result in checked))


def _run_missing(
    console: Console,
    target: str,
    cases: Sequence[NumberedCase],
    results: CaseResults,
    repeats: int,
    models: Sequence[str],
    jobs: int,
) -> str:
    """Make the runs that are not in the file; return the program's digest."""
    loaded = get_target(target)
    digest = compute_program_digest(loaded.program, target)
    planned = list_planned_runs(cases, models, repeats)
    # Replayed runs are free, and repeats must take replies in order.
    is_replayed = find_replayed_recording()
    missing = [run for run in planned if is_replayed or run.make_key(digest) not in results.known]
    if len(missing) < len(planned):
        console.note(f"{len(planned) - len(missing):,} runs are known from {results.path}")
    progress = ProgressLine(console, "running")
    progress(0, len(missing))
    # The cache would answer a repeat with another repeat's reply.
    with set_variable("NJC_CACHE", "off") if repeats > 1 else nullcontext():
        for number, result in enumerate(run_cases(loaded, missing, digest, jobs), 1):
            known = results.known.get(result.key)
            if known is None or replace(known, seconds=result.seconds) != result:
                results.add(result)
            progress(number, len(missing))
    return digest


def _accept_results(target: TargetFunction, cases: Path, model: str) -> str:
    """Write the results of cases without an expectation into their file, once; return a note about it."""
    accepted: dict[str, list[str]] = {}
    open_cases = [each for each in read_cases(cases, False) if not each.case.has_expectation]
    try:
        for each in open_cases:
            line = format_case(accept_case(target, each, model)) + "\r" * each.text.endswith("\r")
            accepted.setdefault(each.text, []).append(line)
    finally:
        if accepted:
            with lock_folder(cases.absolute().parent):  # the file may have changed in the meantime
                text = cases.read_bytes().decode()
                mark = text[: text.startswith("\ufeff")]
                lines = text.removeprefix(mark).split("\n")
                lines = [accepted[it].pop(0) if accepted.get(it) else it for it in lines]
                write_all({cases: (mark + "\n".join(lines)).encode()}, {})
    return f"{format_count(len(open_cases), 'result')} accepted in {cases}; review the difference"


def _evaluate_version(
    ref: str,
    root: Path,
    target: str,
    cases: Path,
    results: CaseResults,
    repeats: int,
    models: Sequence[str],
    jobs: int,
) -> str:
    """Run the cases on the program at a git reference, in another process; return the program's digest."""
    program, _, function = target.rpartition(":")
    file = Path(program).absolute()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "version"
        _call_git(root, "worktree", "add", "--detach", "--quiet", str(copy), ref)
        try:
            there = copy / file.resolve().relative_to(root.resolve())
            if not there.is_file():
                raise ConfigurationError(f"there is no file {program}")
            named = f"{there}:{function}"
            with set_variable(VERSION_VARIABLE, _compute_version(copy)):
                environ = {**os.environ, "PYTHONPATH": _make_import_path(root.resolve(), copy)}
                run_eval_process(
                    named, cases, results.path, models, repeats=repeats, jobs=jobs, environ=environ
                )
                return compute_program_digest(there, target)
        except ConfigurationError as error:
            raise ConfigurationError(f"{ref}: {error}".replace(f"{copy}{os.sep}", "")) from None
        finally:
            _call_git(root, "worktree", "remove", "--force", str(copy))


def _make_import_path(root: Path, copy: Path) -> str:
    """Return the import path with the repository's folders replaced with their counterparts in the copy."""
    places = (Path(folder).resolve() for folder in filter(None, sys.path))
    copies = (copy / place.relative_to(root) for place in places if place.is_relative_to(root))
    folders = [str(folder) for folder in copies if folder.is_dir()]
    kept = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    others = [folder for folder in kept if not Path(folder).resolve().is_relative_to(root)]
    return os.pathsep.join([*folders, *others])


def _compute_version(root: Path) -> str:
    """Return a digest of all modules in a repository's folder."""
    names = _call_git(root, "ls-files", "-coz", "--exclude-standard", "--", "*.py", f"*{SUFFIX}")
    files = filter(Path.is_file, (root / name for name in sorted(set(names.split("\0")))))
    parts = [
        f"{it.relative_to(root)}\0{hashlib.sha256(it.read_bytes()).hexdigest()}" for it in files
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _call_git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)  # fmt: skip
    except FileNotFoundError:
        raise ConfigurationError("--against needs git") from None
    if done.returncode:
        raise ConfigurationError(f"git: {done.stderr.strip()}")
    return done.stdout
