"""Running a type checker on natural code, in a copy of its project.

    check_types([Path("src")], ["mypy", "--strict"], project)

    TypeReport(status=1, output="src/mail.njpy:9:20: error: ...", errors="", findings=())

All natural code below the source roots is rendered, so that the checked code can import it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from njc.compiler import analyze
from njc.editors.type_check.rendering import RenderedSource, render_for_checker
from njc.editors.type_check.reports import ReportedFile, translate_report
from njc.project.build import CompileResult, Finding, collect_findings, read_source
from njc.project.config import Project, make_absolute
from njc.project.units import (
    SUFFIX,
    choose_places,
    explaining_failure,
    find_top_package,
    format_path,
    is_selected,
    make_unit,
    read_header,
    walk_files,
)
from njrt.errors import ConfigurationError
from njrt.private_files import name_temporary
from njrt.records import record


@record
class TypeReport:
    """The checker's output, with places in the sources, and its exit status."""

    status: int
    output: str = ""
    errors: str = ""
    findings: tuple[Finding, ...] = ()


def check_types(arguments: Sequence[Path], command: Sequence[str], project: Project) -> TypeReport:
    """Run a checker on the named sources, or else the project's; raises ConfigurationError."""
    places = [make_absolute(each) for each in choose_places(arguments, project)]
    program = _find_program(command[0])
    base, run_folder = _choose_folders(places)
    sources = [file for file in _find_sources(places, project) if file.is_relative_to(base)]
    analyses = {file: analyze(read_source(make_unit(file, project))) for file in sources}
    results = [
        CompileResult(make_unit(file, project), analysis.source, None, analysis.diagnostics)
        for file, analysis in analyses.items()
        if any(file.is_relative_to(place) for place in places)  # the checker itself finds others
    ]
    if findings := tuple(it for it in collect_findings(results, "default") if it.is_error):
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


# ── sources ──────────────────────────────────────────────────────────────────────────────────────


def _choose_folders(places: Sequence[Path]) -> tuple[Path, Path]:
    """Return the directory to copy and the one for the checker: the current one if it is copied."""
    here = Path.cwd()
    for start in (here, places[0] if places[0].is_dir() else places[0].parent):
        configured = (
            folder
            for folder in (start, *start.parents)
            if (folder / ".git").exists()
            or any((folder / name).is_file() for name in _CONFIGURATION_FILES)
        )
        base = next(configured, start)
        if all(place.is_relative_to(base) for place in places):
            return base, here if here.is_relative_to(base) else base
    raise ConfigurationError(
        f"{format_path(places[-1])} is outside of {base}; check the sources of one project at a"
        " time"
    )


def _find_sources(places: Sequence[Path], project: Project) -> list[Path]:
    """Find natural code to render: below the places, in their packages, below the source roots."""
    found: dict[Path, None] = {}
    for place in (*places, *(root for root in project.src if root.is_dir())):
        if not place.exists():
            raise ConfigurationError(f"no such file or directory: {format_path(place)}")
        if place.is_file() and place.suffix not in (SUFFIX, ".py", ".pyi"):
            raise ConfigurationError(f"{format_path(place)} is neither a {SUFFIX} file nor Python")
        folder = place if place.is_dir() else place.parent
        package = find_top_package(folder, Path(folder.anchor))
        whole = package or (place if place.is_dir() else None)
        around = walk_files(whole, SUFFIX) if whole else sorted(folder.glob(f"*{SUFFIX}"))
        found.update(dict.fromkeys(filter(Path.exists, around)))  # without broken links
    selected = (make_unit(file, project) for file in found)
    return [unit.source for unit in selected if is_selected(unit.source, unit.root, project)]


# ── the process ──────────────────────────────────────────────────────────────────────────────────

_MYPY = ("mypy", "dmypy")
_MODULE_FLAG = re.compile(r"-[mpc].*|--(?:module|package|command)(?:=.*)?")
"""mypy flags that choose what to check; mypy accepts no files alongside them."""
_FLAGS_OF_MYPY = ("--show-column-numbers", "--no-pretty")
"""Columns distinguish the references on a line; excerpts would show the rendered text."""


def _find_program(name: str) -> str:
    """Find the checker on the path, or beside the Python that runs njc."""
    found = shutil.which(name) or shutil.which(str(Path(sys.executable).parent / name))
    if found is None:
        raise ConfigurationError(
            f"there is no command `{name}`; install the type checker, such as by `pip install"
            " mypy`, or write its path"
        )
    return os.path.abspath(found)


def _make_environment(program: str, mirror: Mirror, project: Project) -> dict[str, str]:
    """Return the variables with which a checker finds the source roots' modules and its Python."""
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
    program: str, arguments: Sequence[str], places: Sequence[Path], mirror: Mirror, own_folder: Path
) -> list[str]:
    """Return the command as the user wrote it, followed by the sources to check."""
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
    """Return a command argument, replaced with the rendered file if it names natural code."""
    if not argument.endswith(SUFFIX):
        return argument
    file = make_absolute(Path(argument))
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


MIRROR_NAME = ".njc_types"
_CONFIGURATION_FILES = (
    "pyproject.toml",
    "mypy.ini",
    ".mypy.ini",
    "setup.cfg",
    "pyrightconfig.json",
)
_UNLINKED_NAMES = (MIRROR_NAME, ".git", ".gitignore", ".mypy_cache", ".dmypy.json", "__pycache__")
"""The files and directories that the copy does not share with the project."""


@record
class Mirror:
    """A copy of a project, and the rendered files in it."""

    project: Path
    folder: Path
    files: Mapping[Path, RenderedSource]
    """The rendered files, by source path."""

    def locate(self, path: Path) -> Path:
        """Return the path in the copy for a file or directory of the project."""
        place = self.folder / path.relative_to(self.project)
        return place.with_suffix(".py") if path in self.files else place

    def find_source(self, path: Path) -> Path:
        """Return the path in the project for one in the copy; any other path unchanged."""
        if not path.is_relative_to(self.folder):
            return path
        own = self.project / path.relative_to(self.folder)
        natural = own.with_suffix(".njpy")
        return natural if own.suffix == ".py" and natural in self.files else own


@contextmanager
def open_mirror(
    project: Path, files: Mapping[Path, RenderedSource], ignored: Iterable[Path]
) -> Iterator[Mirror]:
    """Make the copy of a project, or bring it up to date, leaving out `ignored`.

    In a read-only project, the copy is temporary. Raises ConfigurationError if there is no place
    for it.
    """
    with ExitStack() as stack:
        folder = project / MIRROR_NAME
        try:
            with suppress(OSError):
                folder.mkdir(exist_ok=True)
            if not os.access(folder, os.W_OK):
                folder = Path(
                    stack.enter_context(TemporaryDirectory(prefix="njc-types-"))
                ).resolve()
            mirror = Mirror(project, folder, files)
            above = {parent for file in files for parent in file.parents}
            _update_folder(mirror, project, above, {*ignored})
            _write_file(folder / ".gitignore", b"*\n")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigurationError(
                f"cannot write {error.filename or folder}, a copy for the type checker: {reason}"
            ) from None
        yield mirror


def _update_folder(mirror: Mirror, folder: Path, above: set[Path], ignored: set[Path]) -> None:
    """Fill a directory of the copy; directories are links, except those `above` a rendered file."""
    copy = mirror.folder / folder.relative_to(mirror.project)
    if copy.is_symlink():
        copy.unlink()
    copy.mkdir(parents=True, exist_ok=True)
    rendered = {
        file.with_suffix(".py").name: file for file in mirror.files if file.parent == folder
    }
    expected = {*rendered, ".gitignore"}
    for name, file in rendered.items():
        _write_file(copy / name, mirror.files[file].rendered.data)
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        path = Path(entry.path)
        if entry.name in _UNLINKED_NAMES or entry.name in rendered or path in ignored:
            continue
        if path.suffix == ".pyi" and path.with_suffix(".py").name in rendered and read_header(path):
            continue
        expected.add(entry.name)
        if path in above and entry.is_dir():
            _update_folder(mirror, path, above, ignored)
        elif path not in mirror.files:
            _link(copy / entry.name, path)
    # Remove entries without a counterpart; hidden files belong to the checker.
    for entry in list(os.scandir(copy)):
        if entry.name not in expected and not entry.name.startswith("."):
            _remove(Path(entry.path))


def _write_file(place: Path, data: bytes) -> None:
    """Write a file unless it already holds the same bytes."""
    if place.is_symlink():
        place.unlink()
    with suppress(OSError):
        if place.read_bytes() == data:
            return
    temporary = name_temporary(place)
    temporary.write_bytes(data)
    os.replace(temporary, place)


def _link(place: Path, target: Path) -> None:
    if place.is_symlink() and os.readlink(place) == str(target):
        return
    _remove(place)
    with suppress(FileExistsError):  # another process made it
        place.symlink_to(target, target_is_directory=target.is_dir())


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
