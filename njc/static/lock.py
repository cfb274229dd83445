"""`njc.lock`: the code that a model wrote for each static block, as text to review and commit.

    [[block]]
    name = "mailbox.njpy:Mailbox.triage"
    mode = "static"
    meaning = {instruction = "9f3c01ab", interface = "77aa10c2", context = "04be99d0"}
    model = "gpt-4.1"
    date = "2026-03-01"
    attempts = 2
    tokens = {input = 1210, output = 96}
    usd = 0.0031
    digest = "51f0a2c37d8e4b66"
    code = '''
    kind = llm(f"...", Literal["spam", "bill"])
    '''

An entry is valid for the meaning that it was written for, and stale for any other. `reviewed = {by
= "Ada", date = "2026-03-02", digest = "51f0a2c37d8e4b66"}` is a person's signature. `digest` is the
digest of the model's code, so edits can be detected; edited code is kept. `rationale` is the
model's explanation of the mistake that repaired code corrects. Of what only njc 0.2 used, the
sections `[[authority]]`, `[[tuned]]` and `[[mcp]]` are kept; other keys, and entries without code,
of blocks that stayed live, are ignored. The same entries always give the same text.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from njrt.data.records import asdict, field, record, replace
from njrt.errors import ConfigurationError, require_packages

_FILE_HEAD = """\
# The code that models wrote for natural blocks. Made by njc; review it and commit it.
# `code` may be edited: njc checks and keeps what stands here. `njc lock` says what is stale or \
edited.
version = 1
"""


@record
class BlockDigests:
    """Digests of a meaning's parts: the instruction, the interface, the surrounding program."""

    instruction: str
    interface: str
    context: str


@record
class TokenCounts:
    """The tokens used to write the code."""

    input: int
    output: int


@record
class Review:
    """A person's signature: this code was read."""

    by: str
    date: str
    digest: str
    """The digest of the code that was read, and of the text that it was written for."""


@record
class LockEntry:
    """The locked code for a block in one mode; the fields are the keys in the file."""

    name: str
    mode: str
    meaning: BlockDigests
    model: str
    date: str
    attempts: int
    tokens: TokenCounts
    digest: str
    """The digest of the code as the model wrote it."""
    code: str
    usd: float | None = None
    rationale: str = ""
    """The model's explanation of the mistake that code from `njc static --repair` corrects."""
    reviewed: Review | None = None
    """Who has read the code."""

    @property
    def is_edited(self) -> bool:
        """Whether the code differs from the model's."""
        return self.digest != hash_code(self.code)

    @property
    def is_reviewed(self) -> bool:
        """Whether a person has signed this code."""
        signed = self.reviewed
        return bool(signed and signed.by.strip() and signed.digest == self.compute_signature())

    def compute_signature(self) -> str:
        """Return the digest of the code and of its meaning, which a signature names."""
        meaning = self.meaning
        parts = meaning.instruction, meaning.interface, meaning.context, self.code.strip()
        return hash_code("\n".join(parts))


LockKey = tuple[str, str]
"""A block's name, and the mode."""


@record
class StaticLock:
    """The contents of a lock file."""

    entries: Mapping[LockKey, LockEntry] = field(default_factory=dict)
    kept: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """The sections of njc 0.2 that are not used any more, in order, each with its kind."""

    def with_entries(self, entries: Iterable[LockEntry]) -> StaticLock:
        """Return the lock with entries added; they replace older ones."""
        added = {(entry.name, entry.mode): entry for entry in entries}
        return replace(self, entries={**self.entries, **added})


@record
class _LockFile:
    """The whole file."""

    version: Literal[1]
    block: tuple[LockEntry, ...] = ()
    authority: tuple[Mapping[str, Any], ...] = ()
    tuned: tuple[Mapping[str, Any], ...] = ()
    mcp: tuple[Mapping[str, Any], ...] = ()


def hash_code(code: str) -> str:
    """Return a short digest of code; leading and trailing blank lines do not count."""
    return hashlib.sha256(code.strip().encode()).hexdigest()[:16]


def describe_authors(entries: Sequence[LockEntry]) -> str:
    """Return the authors of a file's code, for the head of the compiled file."""
    if not entries:
        return ""
    models = ", ".join(sorted({entry.model for entry in entries}))
    return f"code by {models or 'a model'}{', edited' * any(it.is_edited for it in entries)}"


def read_lock(file: Path) -> StaticLock:
    """Read a lock file; a file that does not exist counts as empty."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text)
    except FileNotFoundError:
        return StaticLock()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}; {_WAY_OUT}") from None
    from pydantic import TypeAdapter, ValidationError

    try:
        read = TypeAdapter(_LockFile).validate_python(document)
    except ValidationError as error:
        (first, *_) = error.errors()
        place = _name_key(document, first["loc"])
        raise ConfigurationError(f"{file}: {place}: {first['msg']}; {_WAY_OUT}") from None
    blocks = [entry for entry in read.block if entry.code.strip()]
    keys = [(entry.name, entry.mode) for entry in blocks]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        name, mode = twice
        raise ConfigurationError(f"{file}: `{name} ({mode})` is there twice; keep one of them")
    learned = [it for it in blocks if it.mode.endswith(_LEARNED)]
    lock = StaticLock().with_entries(it for it in blocks if it not in learned)
    lock = lock.with_entries(replace(it, mode=it.mode.removesuffix(_LEARNED)) for it in learned)
    kept = [(kind, section) for kind in KEPT_SECTIONS for section in getattr(read, kind)]
    return replace(lock, kept=tuple(kept))


KEPT_SECTIONS = ("authority", "tuned", "mcp")
"""The sections of njc 0.2 that are written back as they were read."""
_LEARNED = "-learned"
"""The suffix of the mode of code that njc 0.2 learned from examples, and preferred."""

_WAY_OUT = "correct it, install the njc that wrote it, or delete the file and build again"


def _name_key(document: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """Return a key in the file for people, with the name of its block or server."""
    shown = f"`{'.'.join(map(str, path))}`"
    match path:
        case (str(kind), int(index), *_) if isinstance(found := document[kind][index], dict):
            return f"{shown} ({found.get('name', 'without a name')})"
    return shown


def format_lock(lock: StaticLock) -> str:
    """Format a lock as text, with its entries in the order of their names."""
    require_packages("writing njc.lock", "njpy[static]", "tomlkit")
    import tomlkit

    sections: list[tuple[str, Mapping[str, Any]]] = [
        *(("block", _list_entry_fields(entry)) for _, entry in sorted(lock.entries.items())),
        *lock.kept,
    ]
    texts = []
    for kind, fields in sections:
        table = tomlkit.table()
        for key, value in fields.items():
            table.append(key, _make_item(key, value))
        texts.append(f"[[{kind}]]\n{table.as_string()}")
    return "\n".join([_FILE_HEAD, *texts])


def _list_entry_fields(entry: LockEntry) -> dict[str, Any]:
    """Return the fields of an entry that are not empty, with the code at the end."""
    fields = asdict(entry)
    code = fields.pop("code")
    filled = {key: value for key, value in fields.items() if value not in (None, "")}
    return {"name": "", "model": ""} | filled | {"code": code}


def _make_item(key: str, value: Any) -> Any:
    import tomlkit

    match value:
        case str() if key in ("rationale", "code"):
            text = value.strip("\n").replace("\r", "")
            if not text or _NEEDS_ESCAPES.search(text):
                return tomlkit.string(text, multiline=bool(text))
            return tomlkit.value(f"'''\n{text}\n'''")
        case Mapping():
            table = tomlkit.inline_table()
            table.update(value)
            return table
        case _:
            return tomlkit.item(value)


_NEEDS_ESCAPES = re.compile(r"'''|[\x00-\x08\x0b-\x1f\x7f]")
