"""`njc annotate mail.njpy`: have a model propose the types that a program lacks, and show them as a diff."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import click

from njc.codegen.lower import list_given_options
from njc.commands.terminal.console import Console
from njc.commands.terminal.flags import FILE, SOURCES, resolve_project, with_console
from njc.compiler import analyze
from njc.editors.type_check.checker import check_types
from njc.evaluation.cases.case_file import read_cases
from njc.evaluation.cases.runner import CaseResult, CaseResults, run_eval_process
from njc.frontend.diagnostics import Diagnostic
from njc.frontend.source import SourceFile
from njc.project.build import CompileResult, collect_findings, make_compile_task, read_source
from njc.project.config import Project
from njc.project.fixes import apply_replacements, correct
from njc.project.outputs import rewrite_all
from njc.project.report import format_count, format_diff
from njc.project.units import Unit, find_units
from njc.static.annotate import (
    MissingType,
    ask_for_type,
    find_missing_types,
    make_annotation,
    read_type,
)
from njrt.errors import ConfigurationError, NaturalError, ReplyError
from njrt.records import record, replace
from njrt.session.question import llm_at


@click.command("annotate")
@SOURCES
@click.option("--write", is_flag=True, help="Write the types into the sources.")
@click.option(
    "--cases",
    nargs=2,
    type=(str, FILE),
    metavar="FUNCTION FILE",
    help="Keep types only if no fewer cases pass.",
)
@with_console
def command(
    console: Console, sources: Sequence[Path], write: bool, cases: tuple[str, Path] | None
) -> None:
    """Propose types for outputs and parameters without one.

    Types that the text or the code states come first, as with `njc check --hints --fix`; a model is asked for the others.
    Without a model only the stated types are added, and the exit code is 2. The result is a diff. A type that leads to a new finding or a new error of mypy is left out.
    """
    project = resolve_project(sources, {})
    units = find_units(sources, project)
    if cases:
        if len(units) != 1:
            raise ConfigurationError("--cases needs one source")
        read_cases(cases[1])
    changed: dict[Path, tuple[bytes, bytes]] = {}
    unasked: NaturalError | None = None
    annotators = [Annotator(console, unit, project) for unit in units]
    for annotator in annotators:  # before any question is paid for
        annotator.check(read_source(annotator.unit))
    try:
        for annotator in annotators:
            before = read_source(annotator.unit)
            after, problem = annotator.annotate(before)
            unasked = unasked or problem
            if cases and after.data != before.data and not annotator.passes(before, after, *cases):
                continue
            if after.data != before.data:
                changed[annotator.unit.source] = before.data, after.data
                name = annotator.unit.display_path
                console.result(format_diff(before.text, after.text, name, name))
    finally:
        if write:
            rewrite_all(changed)
    done = "annotated" if write else "to be annotated; --write does it"
    console.note(f"{format_count(len(changed), 'file')} {done}" if changed else "no type to add")
    if unasked is not None:
        raise unasked


@record
class Annotator:
    """The annotation of a source."""

    console: Console
    unit: Unit
    project: Project

    def check(self, source: SourceFile) -> None:
        """Raise ConfigurationError for a source with errors."""
        findings = collect_findings([self.compile(source)], self.project.warnings)
        if any(finding.is_error for finding in findings):
            raise ConfigurationError(f"{self.unit.display_path} has errors; njc check shows them")

    def annotate(self, source: SourceFile) -> tuple[SourceFile, NaturalError | None]:
        """Return the source with all types that hold, and the error if no model could be asked for the others."""
        result = correct(self.compile_types(source), self.compile_types, with_hints=True)
        passed_over: set[tuple[str, bool, int]] = set()
        problem: NaturalError | None = None
        known = self.find_type_errors(source)
        while (missing := self.find_next(result.source, passed_over)) is not None:
            passed_over.add(_make_key(missing))
            try:
                proposed = self.propose(missing, result.source)
            except NaturalError as error:  # the types found so far are kept
                problem = error
                break
            if proposed is None:
                continue
            tried = self.compile_types(apply_replacements(result.source, [proposed]))
            what = f"{self.unit.display_path}:{missing.block.line}: `{proposed.replacement}`"
            if _count(tried) > _count(result):
                old = {found.message for found in result.diagnostics}
                added = (it.message for it in tried.diagnostics if it.message not in old)
                reason = next(added, "it does not compile")
                self.console.note(f"{what} is left out: {reason}")
            elif new := self.find_type_errors(tried.source) - known:
                self.console.note(f"{what} is left out: {min(new)}")
            else:
                result = correct(tried, self.compile_types, with_hints=True)
        return correct(self.compile(result.source), self.compile, with_hints=True).source, problem

    def compile(self, source: SourceFile) -> CompileResult:
        return make_compile_task(self.unit, source, self.project).run()

    def compile_types(self, source: SourceFile) -> CompileResult:
        """Compile a version of the source; of the hints, keep only stated types."""
        result = self.compile(source)
        return replace(result, hints=tuple(hint for hint in result.hints if hint.code == "NJ308"))

    def find_next(
        self, source: SourceFile, passed_over: set[tuple[str, bool, int]]
    ) -> MissingType | None:
        analysis = analyze(source)
        found = find_missing_types(source, analysis.blocks, analysis.types)
        return next((each for each in found if _make_key(each) not in passed_over), None)

    def propose(self, missing: MissingType, source: SourceFile) -> Diagnostic | None:
        """Return the correction that a model proposes; None if it is not a type."""
        place = f"{self.unit.path}:{missing.block.line}"
        try:
            options = dict(list_given_options(self.project.options))
            answer = llm_at(place, project=options)(ask_for_type(missing, source))
        except ReplyError as error:
            self.console.note(f"{place}: `{missing.name}`: {error}")
            return None
        proposed = read_type(str(answer), missing, analyze(source).types)
        if proposed is None:
            text = str(answer).strip().partition("\n")[0][:80]
            self.console.note(f"{place}: `{missing.name}`: no type can be made of {text!r}")
            return None
        return make_annotation(source, missing, proposed)

    def find_type_errors(self, source: SourceFile) -> frozenset[str]:
        """Return mypy's errors in a version of the source, without places; empty without mypy."""
        if importlib.util.find_spec("mypy") is None:
            return frozenset()
        checker = ["mypy", "--ignore-missing-imports", "--check-untyped-defs"]
        checker += ["--cache-dir", _make_mypy_cache().name]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / self.unit.source.name
            file.write_bytes(source.data)
            report = check_types([file], checker, Project())
            lines = (line.partition(": error: ")[2] for line in report.output.splitlines())
            return frozenset(line for line in lines if line)

    def passes(self, before: SourceFile, after: SourceFile, function: str, cases: Path) -> bool:
        """Return whether no fewer cases pass with the types."""
        old, new = (self.count_passed(version, function, cases) for version in (before, after))
        self.console.note(f"{function}: {old} cases pass without the types, {new} with them")
        return new >= old

    def count_passed(self, source: SourceFile, function: str, cases: Path) -> int:
        """Return how many cases pass with a version of the source."""
        with tempfile.TemporaryDirectory() as folder:
            file, results = Path(folder) / self.unit.source.name, Path(folder) / "results.jsonl"
            file.write_bytes(source.data)
            for other in self.unit.source.parent.iterdir():  # the program may open these files
                if other.name not in (file.name, "__pycache__"):
                    with suppress(OSError):  # the system has no links
                        (Path(folder) / other.name).symlink_to(other.absolute())
            settings = self.project.file
            if settings is not None and not (Path(folder) / settings.name).exists():
                shutil.copy(settings, folder)
            path = os.pathsep.join([str(self.unit.source.parent), os.environ.get("PYTHONPATH", "")])
            environ = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}
            run_eval_process(f"{file}:{function}", cases, results, environ=environ)
            kept = CaseResults(results, CaseResult)
            kept.read()
            return sum(result.passed for result in kept.known.values())


@cache
def _make_mypy_cache() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when the process ends; without it, each version's imports are rechecked."""
    return tempfile.TemporaryDirectory(prefix="njc-mypy-")


def _make_key(missing: MissingType) -> tuple[str, bool, int]:
    return missing.name, missing.is_input, missing.block.line


def _count(result: CompileResult) -> int:
    return len(result.diagnostics) + (result.output is None)
