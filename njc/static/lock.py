"""`njc.lock`: the code that a model wrote for each static block, as text to be reviewed and committed.

    [[block]]
    name = "mailbox.njpy:Mailbox.triage"
    mode = "static"
    meaning = { instruction = "9f3c01ab", interface = "77aa10c2", context = "04be99d0" }
    model = "gpt-4.1"
    date = "2026-03-01"
    attempts = 2
    tokens = { input = 1210, output = 96 }
    usd = 0.0031
    digest = "51f0a2c37d8e4b66"
    code = '''
    kind = llm(f"...", Literal["spam", "bill"])
    '''

Learned code has a mode such as `static-learned`, a `score = { right = 7, wrong = 1, of = 8 }`, and the `shapes` of
the values that it was learned from. An entry is good for the meaning that it was written for, and stale for any other. `digest` is that of the code
as the model wrote it, so an edit shows; edited code is kept. The same entries always give the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from njrt.errors import ConfigurationError

LOCK_FILE_NAME = "njc.lock"
LOCK_VERSION = 1
_FILE_HEAD = f"""\
# The code that models wrote for natural blocks. Made by njc; review it and commit it.
# `code` may be edited: njc checks and keeps what stands here. `njc lock` says what is stale or edited.
version = {LOCK_VERSION}
"""


@dataclass(frozen=True, slots=True)
class BlockDigests:
    """Digests of what code was written for: the instruction, the interface, the program shown with them."""

    instruction: str
    interface: str
    context: str


@dataclass(frozen=True, slots=True)
class LockScore:
    """How code did on examples; what is neither right nor wrong was left to the live block (mode `auto`)."""

    right: int
    wrong: int
    of: int

    @property
    def rank(self) -> tuple[int, int]:
        """What to compare scores by: a wrong answer is worse than none."""
        return -self.wrong, self.right

    def __str__(self) -> str:
        left = self.of - self.right - self.wrong
        return f"{self.right} of {self.of} right" + (
            f", {left} left to the live block" if left else ""
        )


@dataclass(frozen=True, slots=True)
class LockEntry:
    """What is locked for one block in one mode."""

    name: str
    mode: str
    meaning: BlockDigests
    model: str
    date: str
    attempts: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    digest: str
    """That of the code as the model wrote it."""
    code: str
    """Empty where the block stays live."""
    live: str = ""
    """Why the block stays live."""
    score: LockScore | None = None
    """How learned code did on the examples that it was learned from."""
    shapes: Mapping[str, str] = field(default_factory=dict)
    """What the variables were like in these examples."""

    @property
    def is_edited(self) -> bool:
        """Whether the code is not as the model wrote it."""
        return self.digest != hash_code(self.code)


LockKey = tuple[str, str]
"""The name of a block, and the mode."""


@dataclass(frozen=True, slots=True)
class StaticLock:
    """The entries of a lock file."""

    entries: Mapping[LockKey, LockEntry] = field(default_factory=dict)


LEARNED_SUFFIX = "-learned"
"""Behind the mode of an entry whose code was held against examples."""


def hash_code(code: str) -> str:
    """A short digest of code; blank lines at its ends do not count."""
    return hashlib.sha256(code.strip().encode()).hexdigest()[:16]


def add_entries(lock: StaticLock, entries: Iterable[LockEntry]) -> StaticLock:
    """The lock with entries added, or put in place of older ones."""
    return StaticLock({**lock.entries, **{(entry.name, entry.mode): entry for entry in entries}})


def remove_entries(lock: StaticLock, keys: Iterable[LockKey]) -> StaticLock:
    """The lock without some entries."""
    gone = set(keys)
    return StaticLock({key: entry for key, entry in lock.entries.items() if key not in gone})


def read_lock(file: Path) -> StaticLock:
    """Read a lock file; one that does not exist holds nothing."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return StaticLock()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            f"{file} cannot be read: {error}; mend it, or delete it and build again"
        ) from None
    if document.get("version") != LOCK_VERSION:
        raise ConfigurationError(
            f"{file} is of version {document.get('version')!r}, and this njc reads version {LOCK_VERSION}; "
            "install the njc that wrote it, or delete it and build again"
        )
    try:
        return add_entries(StaticLock(), map(_parse_entry, document.get("block", [])))
    except (KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{file}: an entry is not complete: {error}; mend it, or delete it and build again"
        ) from None


def _parse_entry(written: Mapping[str, Any]) -> LockEntry:
    return LockEntry(
        written["name"],
        written["mode"],
        BlockDigests(**written["meaning"]),
        written["model"],
        written["date"],
        written["attempts"],
        written["tokens"]["input"],
        written["tokens"]["output"],
        written.get("usd"),
        written["digest"],
        written["code"],
        written.get("live", ""),
        LockScore(**written["score"]) if "score" in written else None,
        written.get("shapes", {}),
    )


def format_lock(lock: StaticLock) -> str:
    """Write a lock as text, its entries in the order of their names."""
    entries = [lock.entries[key] for key in sorted(lock.entries)]
    return "\n".join([_FILE_HEAD, *("\n".join(_format_entry(entry)) + "\n" for entry in entries)])


def _format_entry(entry: LockEntry) -> Iterator[str]:
    meaning = entry.meaning
    yield "[[block]]"
    yield f"name = {_format_string(entry.name)}"
    yield f"mode = {_format_string(entry.mode)}"
    yield (
        f"meaning = {{ instruction = {_format_string(meaning.instruction)}, "
        f"interface = {_format_string(meaning.interface)}, context = {_format_string(meaning.context)} }}"
    )
    yield f"model = {_format_string(entry.model)}"
    yield f"date = {_format_string(entry.date)}"
    yield f"attempts = {entry.attempts}"
    yield f"tokens = {{ input = {entry.input_tokens}, output = {entry.output_tokens} }}"
    if entry.usd is not None:
        yield f"usd = {entry.usd:.6f}"
    yield f"digest = {_format_string(entry.digest)}"
    if entry.is_edited:
        yield "edited = true"
    if entry.score:
        score = entry.score
        yield f"score = {{ right = {score.right}, wrong = {score.wrong}, of = {score.of} }}"
    if entry.shapes:
        yield "shapes = { " + ", ".join(_format_pairs(entry.shapes)) + " }"
    if entry.live:
        yield f"live = {_format_string(entry.live)}"
    yield f"code = {_format_multiline_string(entry.code)}"


def _format_pairs(texts: Mapping[str, str]) -> Iterator[str]:
    for name, text in sorted(texts.items()):
        key = name if name.isascii() else _format_string(name)
        yield f"{key} = {_format_string(text)}"


_NEEDS_ESCAPES = re.compile(r"'''|[\x00-\x08\x0b-\x1f\x7f]")


def _format_string(text: str) -> str:
    """A TOML string on one line; TOML has JSON's escapes, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_multiline_string(code: str) -> str:
    """A TOML string over several lines, as it is if possible, else with escapes."""
    if not _NEEDS_ESCAPES.search(code):
        return f"'''\n{code.rstrip()}\n'''" if code.strip() else '""'
    lines = (_format_string(line)[1:-1] for line in code.rstrip().split("\n"))
    return '"""\n' + "\n".join(lines) + '\n"""'
