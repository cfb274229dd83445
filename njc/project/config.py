"""The project's settings: `[tool.njc]` in pyproject.toml, overridden by the environment.

    [tool.njc]                      Project(
    src = "src"                         src=(ROOT/src,),
    out = "build"                       out=ROOT/build,
    exclude = ["drafts"]                exclude=("drafts",),
    max-effects = 20                    options=Options(max_effects=20))

An environment variable overrides a key (`NJC_OUT=elsewhere`), and a flag overrides the variable.
Block options (`model`, `max-effects`, ...) are the exception: their variables count when the
program runs, not when it is built, so that a build does not depend on who runs it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from njrt.data.options import OPTION_NAMES as OPTION_NAMES
from njrt.data.options import Options, make_options
from njrt.data.options.removed import DROPPED, REFUSED
from njrt.data.records import field, record, replace
from njrt.data.similar import find_similar
from njrt.errors import ConfigurationError

LOCK_FILE_NAME = "njc.lock"
TomlValue = Any
"""A value from TOML, not yet checked."""


@record
class Project:
    """A project's settings; paths are absolute."""

    file: Path | None = None
    """The pyproject.toml with the settings, if there is one."""
    src: tuple[Path, ...] = ()
    """The source roots."""
    out: Path | None = None
    """The directory for compiled files; None puts each beside its source."""
    include: tuple[str, ...] = ()
    """Patterns of sources to compile; empty for all."""
    exclude: tuple[str, ...] = ()
    """Patterns of sources not to compile."""
    required_version: str | None = None
    """The versions of njc that may build this project."""
    warnings: str = "default"
    """`error` treats warnings as errors."""
    options: Options = field(default_factory=Options)
    """Options for every block in the project."""


def get_lock_path(project: Project, folder: Path) -> Path:
    """Return the lock beside pyproject.toml, otherwise in a folder."""
    return (project.file.parent if project.file else folder) / LOCK_FILE_NAME


def find_project(start: Path, environ: Mapping[str, str]) -> Project:
    """Read the settings for sources at `start`: the nearest `[tool.njc]` upwards, and `environ`."""
    for file in list_project_files(start):
        if file.is_file() and (table := _read_table(file)) is not None:
            return apply_environment(make_project(table, file), environ)
    return apply_environment(Project(), environ)


def apply_environment(
    project: Project, environ: Mapping[str, str], folder: Path | None = None
) -> Project:
    """Override settings by `NJC_*` variables; paths start at `folder` or the working directory."""
    settings = {
        key: [it.strip() for it in value.split(",") if it.strip()] if key in _LIST_KEYS else value
        for variable, key in PROJECT_VARIABLES.items()
        if (value := environ.get(variable))
    }
    return _apply_settings(project, settings, folder or Path(), "the environment")


def make_project(table: Mapping[str, TomlValue], file: Path) -> Project:
    """Check the table `[tool.njc]` of `file`, and read it."""
    where = f"{file}: [tool.njc]"
    options = {key.replace("-", "_"): value for key, value in table.items() if _is_option(key)}
    if isinstance(own := options.get("own_packages"), list):
        options["own_packages"] = ", ".join(map(str, own))
    settings = {key: value for key, value in table.items() if not _is_option(key)}
    project = Project(file=file, options=make_options(options, where))
    return _apply_settings(project, settings, file.parent, where)


def check_required_version(requirement: str | None, version: str) -> None:
    """Raise ConfigurationError unless this `version` of njc satisfies the project's requirement."""
    if requirement is None:
        return
    # Imported only for projects that require a version.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    bare = requirement.strip()[:1].isdigit()
    try:
        specifiers = SpecifierSet(f"=={requirement}" if bare else requirement)
    except InvalidSpecifier:
        raise ConfigurationError(
            f"cannot read the required version `{requirement}`; write it like `>=0.1,<0.3`"
        ) from None
    if not specifiers.contains(version, prereleases=True):
        raise ConfigurationError(
            f"this is njc {version}, but the project requires {requirement.strip()}; "
            f"install njpy{specifiers}"
        )


def list_project_files(start: Path) -> list[Path]:
    """Return the files that may contain settings for `start`, nearest first, existing or not."""
    start = make_absolute(start)
    folder = start if start.is_dir() else start.parent
    files = []
    for candidate in (folder, *folder.parents):
        files.append(candidate / "pyproject.toml")
        if (candidate / ".git").exists():
            break
    return files


def make_absolute(path: Path) -> Path:
    """Return an absolute path without `..`; links in it are kept, unless a `..` follows them."""
    path = path.absolute()
    plain = Path(os.path.normpath(path))
    real = os.path.realpath(path) if ".." in path.parts else ""
    return Path(real) if real and real != os.path.realpath(plain) else plain


def _read_table(file: Path) -> Mapping[str, TomlValue] | None:
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8-sig")).get("tool")
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read as TOML: {error}") from None
    table = tool.get("njc") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(f"{file}: [tool.njc] must be a table")
    return table


def _is_option(key: str) -> bool:
    return "_" not in key and key.replace("-", "_") in (*OPTION_NAMES, *DROPPED, *REFUSED)


def _apply_settings(
    project: Project, settings: Mapping[str, TomlValue], folder: Path, where: str
) -> Project:
    values: dict[str, TomlValue] = {}
    for key, value in settings.items():
        if key not in _KEY_PARSERS:
            raise ConfigurationError(f"{where}: unknown key `{key}`{_suggest_key(key)}")
        try:
            values[key.replace("-", "_")] = _KEY_PARSERS[key](value, folder)
        except ValueError as error:
            raise ConfigurationError(f"{where}: `{key}` must be {error}, not {value!r}") from None
    return replace(project, **values)


def _suggest_key(key: str) -> str:
    known = [*_KEY_PARSERS, *(name.replace("_", "-") for name in OPTION_NAMES)]
    close = find_similar(key, known)
    return f"; did you mean `{close}`?" if close else f"; the keys are {', '.join(known)}"


def _parse_text(value: TomlValue, folder: Path) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a string that is not empty and has no NUL")
    return value


def _parse_path(value: TomlValue, folder: Path) -> Path:
    return make_absolute(folder / _parse_text(value, folder))


def _parse_patterns(value: TomlValue, folder: Path) -> tuple[str, ...]:
    return tuple(_parse_texts(value, "a list of patterns"))


def _parse_paths(value: TomlValue, folder: Path) -> tuple[Path, ...]:
    texts = _parse_texts(value, "a directory or a list of them")
    return tuple(_parse_path(text, folder) for text in texts)


def _parse_texts(value: TomlValue, expected: str) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        raise ValueError(expected)
    return values


def _parse_warnings(value: TomlValue, folder: Path) -> str:
    if value not in ("default", "error"):
        raise ValueError("`default` or `error`")
    return _parse_text(value, folder)


_KEY_PARSERS: Mapping[str, Callable[[TomlValue, Path], TomlValue]] = {
    "src": _parse_paths,
    "out": _parse_path,
    "include": _parse_patterns,
    "exclude": _parse_patterns,
    "required-version": _parse_text,
    "warnings": _parse_warnings,
}
_LIST_KEYS = ("src", "include", "exclude")
PROJECT_VARIABLES = {f"NJC_{key.upper().replace('-', '_')}": key for key in _KEY_PARSERS}
"""The keys of `[tool.njc]` by the variables that override them; block options have their own."""
