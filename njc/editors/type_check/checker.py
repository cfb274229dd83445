"""Running a type checker on natural code, in the copy of its project.

    check_types([Path("src")], ["mypy", "--strict"], project)

    TypeReport(status=1, output="src/mail.njpy:9:20: error: ...", errors="", findings=())

All natural code below the source roots is rendered, so that what is checked can import it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from njc.compiler import Analysis, analyze
from njc.editors.type_check.mirror import Mirror, find_project_folder, open_mirror
from njc.editors.type_check.rendering import render_for_checker
from njc.editors.type_check.reports import ReportedFile, translate_report
from njc.project.build import CompileResult, Finding, collect_findings, is_error, read_source
from njc.project.config import Project
from njc.project.units import (
    SUFFIX,
    choose_places,
    explaining_failure,
    find_top_package,
    format_path,
    is_selected,
    make_unit,
    walk_files,
)
from njrt.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class TypeReport:
    """What the checker wrote, with the places of the sources, and its exit status."""

    status: int
    output: str = ""
    errors: str = ""
    findings: tuple[Finding, ...] = ()
    """Why the checker was not run: sources that cannot be compiled."""


def check_types(arguments: Sequence[Path], command: Sequence[str], project: Project) -> TypeReport:
    """Run a checker on the sources that the arguments name, or else on those of the project.

    Raises ConfigurationError if there is nothing to check, or the checker cannot be started.
    """
    places = [
        Path(os.path.normpath(place.absolute())) for place in choose_places(arguments, project)
    ]
    program = _find_program(command[0])
    base, run_folder = _choose_folders(places)
    sources = [file for file in _find_sources(places, project) if file.is_relative_to(base)]
    analyses = {file: analyze(read_source(make_unit(file, project))) for file in sources}
    if findings := tuple(_list_errors(analyses, places, project)):
        return TypeReport(1, findings=findings)
    files = {
        file: render_for_checker(analysis, project.options) for file, analysis in analyses.items()
    }
    ignored = [] if project.out is None or project.out in project.src else [project.out]
    with open_mirror(base, files, ignored) as mirror:
        own_folder = mirror.locate(run_folder)
        environ = _make_environment(program, mirror, project)
        line = _make_command(program, command[1:], places, mirror, own_folder)
        return _run_checker(line, mirror, own_folder, environ)


# ── what is checked ──────────────────────────────────────────────────────────────────────────────


def _choose_folders(places: Sequence[Path]) -> tuple[Path, Path]:
    """Return the directory that is copied, and the one in which the checker runs: this one, if all places are below."""
    here = Path.cwd()
    for start in (here, places[0] if places[0].is_dir() else places[0].parent):
        base = find_project_folder(start)
        if all(place.is_relative_to(base) for place in places):
            return base, here if here.is_relative_to(base) else base
    raise ConfigurationError(
        f"{format_path(places[-1])} is outside of {base}; check the sources of one project at a time"
    )


def _find_sources(places: Sequence[Path], project: Project) -> list[Path]:
    """Find the natural code to render: below the places, in their packages, and below the source roots."""
    found: dict[Path, None] = {}
    for place in (*places, *(root for root in project.src if root.is_dir())):
        if not place.exists():
            raise ConfigurationError(f"no such file or directory: {format_path(place)}")
        if place.is_file() and place.suffix not in (SUFFIX, ".py", ".pyi"):
            raise ConfigurationError(f"{format_path(place)} is neither a {SUFFIX} file nor Python")
        found.update(dict.fromkeys(_find_sources_around(place)))
    selected = (make_unit(file, project) for file in found)
    return [unit.source for unit in selected if is_selected(unit.source, unit.root, project)]


def _find_sources_around(place: Path) -> Iterator[Path]:
    folder = place if place.is_dir() else place.parent
    package = find_top_package(folder, Path(folder.anchor))
    if package is not None or place.is_dir():
        yield from walk_files(package or place, SUFFIX)
    else:
        yield from sorted(folder.glob(f"*{SUFFIX}"))


def _list_errors(
    analyses: Mapping[Path, Analysis], places: Sequence[Path], project: Project
) -> Iterator[Finding]:
    """Yield the errors of the sources that are to be checked; those of others are the checker's to find."""
    for file, analysis in analyses.items():
        if any(file.is_relative_to(place) for place in places):
            unit = make_unit(file, project)
            result = CompileResult(unit, analysis.source, None, analysis.diagnostics)
            yield from filter(is_error, collect_findings([result], "default"))


# ── the process ──────────────────────────────────────────────────────────────────────────────────

_MYPY = ("mypy", "dmypy")
_MODULE_FLAG = re.compile(r"-[mpc].*|--(?:module|package|command)(?:=.*)?")
"""Flags of mypy that say what to check; it accepts no files beside them."""
_FLAGS_OF_MYPY = ("--show-column-numbers", "--no-pretty")
"""Without columns the references on a line cannot be told apart; excerpts would be of the rendered text."""


def _find_program(name: str) -> str:
    """Find the checker: on the path, or beside the Python that runs njc."""
    found = shutil.which(name) or shutil.which(str(Path(sys.executable).parent / name))
    if found is None:
        raise ConfigurationError(
            f"there is no command `{name}`; install the type checker, such as by `pip install mypy`, "
            "or write its path"
        )
    return os.path.abspath(found)


def _make_environment(program: str, mirror: Mirror, project: Project) -> dict[str, str]:
    """Return the variables of this process; a checker finds the modules of the source roots, and its own Python."""
    roots = [
        str(mirror.locate(root)) for root in project.src if root.is_relative_to(mirror.project)
    ]
    given = os.environ.get("MYPYPATH", "")
    environ = {**os.environ, "MYPYPATH": os.pathsep.join([*filter(None, [given]), *roots])}
    folder = str(Path(program).parent)
    if folder not in environ.get("PATH", "").split(os.pathsep):
        environ["PATH"] = os.pathsep.join([*filter(None, [environ.get("PATH", "")]), folder])
    return environ


def _make_command(
    program: str,
    arguments: Sequence[str],
    places: Sequence[Path],
    mirror: Mirror,
    own_folder: Path,
) -> list[str]:
    """Return the command as the user wrote it, with the sources to check behind it."""
    named = [os.path.relpath(mirror.locate(place), own_folder) for place in places]
    given = [_locate_argument(argument, mirror, own_folder) for argument in arguments]
    words = [program, *given]
    own = [name for name in named if name not in given]
    at = next((index for index, word in enumerate(words[:4]) if Path(word).stem in _MYPY), None)
    if at is None:
        return [*words, *own]
    is_told = any(_MODULE_FLAG.fullmatch(word) for word in words[at + 1 :])
    return [*words, *_FLAGS_OF_MYPY, *([] if is_told else own)]


def _locate_argument(argument: str, mirror: Mirror, own_folder: Path) -> str:
    """Return an argument that names natural code names what is rendered of it."""
    if not argument.endswith(SUFFIX):
        return argument
    file = Path(os.path.normpath(Path(argument).absolute()))
    return os.path.relpath(mirror.locate(file), own_folder) if file in mirror.files else argument


def _run_checker(
    line: Sequence[str], mirror: Mirror, own_folder: Path, environ: Mapping[str, str]
) -> TypeReport:
    def find_file(name: str) -> ReportedFile:
        path = Path(os.path.normpath(own_folder / name))
        source = mirror.find_source(path)
        if source == path:
            return ReportedFile(name, None)
        shown = str(source) if os.path.isabs(name) else format_path(source)
        return ReportedFile(shown, mirror.files.get(source))

    with explaining_failure(f"run {line[0]}"):
        done = subprocess.run(
            line, cwd=own_folder, env=environ, capture_output=True, stdin=subprocess.DEVNULL
        )
    output, errors = (
        translate_report(data.decode(errors="replace"), find_file)
        for data in (done.stdout, done.stderr)
    )
    if done.returncode < 0:
        errors += f"{Path(line[0]).name} was ended by signal {-done.returncode}\n"
        return TypeReport(128 - done.returncode, output, errors)
    return TypeReport(done.returncode, output, errors)
