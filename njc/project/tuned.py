"""The `[[tuned]]` sections of njc.lock: the form of a block that was best on cases, with the evidence.

    [[tuned]]
    file = "mail.njpy"
    instruction = '''
    Put into <:team: Team> the team for <mail>.
    '''
    model = "openai/local"
    options = { reasoning = "text" }
    date = "2026-03-01"
    evidence = { cases = 50, before = 0.620000, after = 0.780000, better = 10, worse = 2, ... }

A section applies to the instruction that it names: after a change of the text, the block is compiled as if untuned.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from njc.codegen.tuned import OptionValue, TunedBlock
from njc.project.config import Project
from njc.project.units import FileState, Unit, read_file_state
from njrt.dataclass_json import NO_OTHER_KEYS
from njrt.errors import ConfigurationError
from njrt.options import find_option_problem
from njrt.records import record

LOCK_FILE_NAME = "njc.lock"
TUNED_OPTIONS = ("effects", "reasoning", "votes", "second_model", "second_below")
"""The options that a section may set."""

_HEAD = "[[tuned]]"


@record
class Evidence:
    """The measurement on the held-out cases, which the choice did not use."""

    __pydantic_config__ = NO_OTHER_KEYS
    cases: int
    before: float
    """The pass rate without the section."""
    after: float
    better: int
    """The cases that pass more often."""
    worse: int
    chance: float
    """The probability of such a difference by chance, times the number of looks."""
    looks: int
    """The number of candidates that were compared on these cases."""
    tokens_before: float
    """The mean number of tokens per run."""
    tokens_after: float

    def __str__(self) -> str:
        return (
            f"{self.before:.3f} -> {self.after:.3f} on {self.cases} held-out cases "
            f"(better in {self.better}, worse in {self.worse}; p = {self.chance:.3f}), "
            f"{self.tokens_before:.0f} -> {self.tokens_after:.0f} tokens"
        )


NO_EVIDENCE = Evidence(0, 0.0, 0.0, 0, 0, 1.0, 0, 0.0, 0.0)
"""The evidence for a form that is being tried."""


@record
class TunedSection:
    """A section, with the fields in the file."""

    __pydantic_config__ = NO_OTHER_KEYS
    file: str
    """The source's path, relative to its root."""
    instruction: str
    model: str
    options: Mapping[str, OptionValue]
    date: str
    evidence: Evidence
    examples: Sequence[tuple[str, str]] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """The section's key in a lock."""
        return self.file, self.instruction.strip("\n"), self.model

    @property
    def choice(self) -> TunedBlock:
        """The choice, without its evidence."""
        instruction = self.instruction.strip("\n")
        return TunedBlock(instruction, self.model, self.options, tuple(self.examples))


@record
class _TunedSections:
    tuned: tuple[TunedSection, ...] = ()


def get_lock_path(project: Project, folder: Path) -> Path:
    """Return the lock beside pyproject.toml, otherwise in a folder."""
    return (project.file.parent if project.file else folder) / LOCK_FILE_NAME


def find_lock_path(unit: Unit, project: Project) -> Path:
    """Return a source's lock: named by the environment, beside pyproject.toml, or in the source root."""
    return project.lock or get_lock_path(project, unit.root)


def find_tuned_blocks(unit: Unit, project: Project) -> tuple[TunedBlock, ...]:
    """Return the tuned forms of a source's blocks; raises ConfigurationError for an unreadable lock."""
    path = find_lock_path(unit, project)
    state = read_file_state(path)
    sections = _read_sections(path, state) if state is not None else ()
    return tuple(section.choice for section in sections if section.file == unit.path)


@lru_cache(maxsize=64)
def _read_sections(path: Path, _: FileState) -> tuple[TunedSection, ...]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if _HEAD not in text:  # most locks: pydantic is not loaded
            return ()
        return check_sections(path, tomllib.loads(text))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from None


def check_sections(path: Path, document: Mapping[str, Any]) -> tuple[TunedSection, ...]:
    """Return a parsed lock's sections; raises ConfigurationError for an invalid section."""
    from njrt.dataclass_json import InvalidJsonError, validate_value

    try:
        read: _TunedSections = validate_value({"tuned": document.get("tuned", ())}, _TunedSections)
    except InvalidJsonError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    for section in read.tuned:
        for name, value in section.options.items():
            problem = find_option_problem(name, value)
            if name not in TUNED_OPTIONS:
                problem = f"option `{name}` cannot be tuned"
            if problem:
                raise ConfigurationError(f"{path}: [[tuned]] of {section.file}: {problem}")
    return read.tuned
