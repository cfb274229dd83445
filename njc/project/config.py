"""The project's settings: `[tool.njc]` in pyproject.toml, and over it the environment.

    [tool.njc]                      Project(
    src = "src"                         src=(ROOT/src,),
    out = "build"                       out=ROOT/build,
    exclude = ["drafts"]                exclude=("drafts",),
    max-effects = 20                    options=Options(max_effects=20))

Every key may be overridden by an environment variable (`NJC_OUT=elsewhere`) and that by a flag.
The options of blocks (`model`, `max-effects`, ...) are the exception: in the environment they belong
to the moment when the program runs, so that building never depends on who builds.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from njc.project.versions import find_unmet_clause
from njrt.errors import ConfigurationError
from njrt.options import OPTION_NAMES as OPTION_NAMES
from njrt.options import Options, make_options

TomlValue = Any
"""A value as TOML gives it, not yet checked."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a project says about its natural code; paths are absolute."""

    file: Path | None = None
    """The pyproject.toml that says it, where there is one."""
    src: tuple[Path, ...] = ()
    """The source roots."""
    out: Path | None = None
    """Where compiled files go; None puts each beside its source."""
    include: tuple[str, ...] = ()
    """Patterns of the only sources to compile; empty for all."""
    exclude: tuple[str, ...] = ()
    """Patterns of sources to leave alone."""
    required_version: str | None = None
    """The versions of njc that may build this project."""
    warnings: str = "default"
    """`error` makes findings of all warnings."""
    options: Options = field(default_factory=Options)
    """Options for every block of the project."""


def find_project(start: Path, environ: Mapping[str, str]) -> Project:
    """Read the settings that hold for sources at `start`: the nearest `[tool.njc]` upwards, and `environ`."""
    return apply_environment(_find_nearest_project(start.absolute()), environ)


def apply_environment(
    project: Project, environ: Mapping[str, str], folder: Path | None = None
) -> Project:
    """Lay the variables `NJC_*` over a project; relative paths are taken from `folder`, or from here."""
    said = {
        key: value.split(",") if key in _LIST_KEYS else value
        for key in _KEY_PARSERS
        if (value := environ.get("NJC_" + key.upper().replace("-", "_")))
    }
    return _apply_settings(project, said, (folder or Path()).absolute(), "the environment")


def make_project(table: Mapping[str, TomlValue], file: Path) -> Project:
    """Check the table `[tool.njc]` of `file`, and make a project of it."""
    where = f"{file}: [tool.njc]"
    options = {key.replace("-", "_"): value for key, value in table.items() if _is_option(key)}
    settings = {key: value for key, value in table.items() if not _is_option(key)}
    project = Project(file=file, options=make_options(options, where))
    return _apply_settings(project, settings, file.parent.absolute(), where)


def check_required_version(requirement: str | None, version: str) -> None:
    """Raise ConfigurationError unless this `version` of njc meets the project's requirement."""
    if requirement is None:
        return
    try:
        clause = find_unmet_clause(requirement, version)
    except ValueError as error:
        raise ConfigurationError(
            f"cannot read `{error}` in the required version `{requirement}`; "
            "write it like `>=0.1,<0.3`"
        ) from None
    if clause is not None:
        raise ConfigurationError(
            f"this is njc {version}, but the project requires {requirement.strip()}; "
            f'run `pip install "njpy{requirement.strip()}"`'
        )


def _find_nearest_project(start: Path) -> Project:
    folder = start if start.is_dir() else start.parent
    for candidate in (folder, *folder.parents):
        file = candidate / "pyproject.toml"
        if file.is_file():
            table = _read_table(file)
            if table is not None:
                return make_project(table, file)
        if (candidate / ".git").exists():
            break
    return Project()


def _read_table(file: Path) -> Mapping[str, TomlValue] | None:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read as TOML: {error}") from None
    table = document.get("tool", {}).get("njc")
    if table is not None and not isinstance(table, dict):
        raise ConfigurationError(f"{file}: [tool.njc] must be a table")
    return table


def _is_option(key: str) -> bool:
    return "_" not in key and key.replace("-", "_") in OPTION_NAMES


def _apply_settings(
    project: Project, settings: Mapping[str, TomlValue], folder: Path, where: str
) -> Project:
    read: dict[str, TomlValue] = {}
    for key, value in settings.items():
        if key not in _KEY_PARSERS:
            raise ConfigurationError(f"{where}: unknown key `{key}`{_suggest_key(key)}")
        try:
            read[key.replace("-", "_")] = _KEY_PARSERS[key](value, folder)
        except ValueError as error:
            raise ConfigurationError(f"{where}: `{key}` must be {error}, not {value!r}") from None
    return replace(project, **read)


def _suggest_key(key: str) -> str:
    known = [*_KEY_PARSERS, *(name.replace("_", "-") for name in OPTION_NAMES)]
    close = difflib.get_close_matches(key.replace("_", "-"), known, n=1)
    return f"; did you mean `{close[0]}`?" if close else f"; the keys are {', '.join(known)}"


def _parse_text(value: TomlValue, folder: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a string")
    return value


def _parse_path(value: TomlValue, folder: Path) -> Path:
    return _make_absolute(_parse_text(value, folder), folder)


def _parse_patterns(value: TomlValue, folder: Path) -> tuple[str, ...]:
    return tuple(_parse_text_list(value, "a list of patterns"))


def _parse_paths(value: TomlValue, folder: Path) -> tuple[Path, ...]:
    texts = _parse_text_list(value, "a directory or a list of them")
    return tuple(_make_absolute(text, folder) for text in texts)


def _make_absolute(text: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / text))


def _parse_text_list(value: TomlValue, expected: str) -> Iterator[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(text, str) and text for text in values):
        raise ValueError(expected)
    return iter(values)


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
