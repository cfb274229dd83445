"""`njc.lock`: the code that a model wrote for each static block, as text to review and commit.

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

Code that njc 0.2 learned has a mode such as `static-learned`, a `score` and `shapes`. An entry is
valid for the meaning that it was written for, and stale for any other. `reviewed = { by = "Ada",
date = "2026-03-02", digest = "51f0a2c37d8e4b66" }` is a person's signature. `digest` is the digest
of the model's code, so edits can be detected; edited code is kept. `checks = { passed = 3, of = 4
}` counts the program's checks that pass with this code, if they were run. `rationale` is the
model's explanation of the mistake that repaired code corrects. Sections of njc 0.2 that this njc
does not use, `[[authority]]` and `[[tuned]]`, are kept. The same entries always give the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from njc.project.servers import ServerSection
from njrt.dataclass_json import NO_OTHER_KEYS
from njrt.errors import ConfigurationError
from njrt.options import OPTION_CHOICES
from njrt.options.removed import MODES as REMOVED_MODES
from njrt.records import asdict, field, record, replace

LOCK_VERSION = 1
_FILE_HEAD = f"""\
# The code that models wrote for natural blocks. Made by njc; review it and commit it.
# `code` may be edited: njc checks and keeps what stands here. `njc lock` says what is stale or \
edited.
version = {LOCK_VERSION}
"""


@record
class BlockDigests:
    """Digests of a meaning's parts: the instruction, the interface, the surrounding program."""

    __pydantic_config__ = NO_OTHER_KEYS
    instruction: str
    interface: str
    context: str


@record
class TokenCounts:
    """The tokens used to write the code."""

    __pydantic_config__ = NO_OTHER_KEYS
    input: int
    output: int


@record
class CheckCounts:
    """How many of the program's checks pass with the code in its place."""

    __pydantic_config__ = NO_OTHER_KEYS
    passed: int
    of: int
    by: str = ""
    """What answered the code's questions and ran its live blocks, such as a model or a script."""

    def __str__(self) -> str:
        by = f" (answered by {self.by})" if self.by else ""
        return f"{self.passed} of {self.of} checks of its program{by}"


@record
class Review:
    """A person's signature: this code was read."""

    __pydantic_config__ = NO_OTHER_KEYS
    by: str
    date: str
    digest: str
    """The digest of the code that was read, and of the text that it was written for."""


@record
class LockEntry:
    """The locked code for a block in one mode; the fields are the keys in the file."""

    __pydantic_config__ = NO_OTHER_KEYS
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
    """Empty if the block stays live."""
    usd: float | None = None
    live: str = ""
    """Why the block stays live."""
    score: Mapping[str, int] | None = None
    shapes: Mapping[str, str] = field(default_factory=dict)
    """What njc 0.2 wrote about code that it learned from examples."""
    checks: CheckCounts | None = None
    """The results of the program's checks with this code, if they were run."""
    contract: str = ""
    """The number of inputs on which the asserts around the block held."""
    rationale: str = ""
    """The model's explanation of the mistake that code from `njc static --repair` corrects."""
    reviewed: Review | None = None
    """Who has read the code."""
    edited: bool = field(default=False, compare=False)
    """Whether the file marks the code as edited; `is_edited` is decisive."""

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


Key = TypeVar("Key")
Value = TypeVar("Value")

LockKey = tuple[str, str]
"""A block's name, and the mode."""


@record
class StaticLock:
    """The contents of a lock file."""

    entries: Mapping[LockKey, LockEntry] = field(default_factory=dict)
    servers: Mapping[str, ServerSection] = field(default_factory=dict)
    """The MCP servers, by name."""
    kept: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """The sections of njc 0.2 that are not used any more, in order, each with its kind."""

    def with_entries(self, entries: Iterable[LockEntry]) -> StaticLock:
        """Return the lock with entries added; they replace older ones."""
        added = {(entry.name, entry.mode): entry for entry in entries}
        return replace(self, entries={**self.entries, **added})

    def without_entries(self, keys: Collection[LockKey]) -> StaticLock:
        """Return the lock without some entries."""
        kept = {key: entry for key, entry in self.entries.items() if key not in keys}
        return replace(self, entries=kept)


@record
class _LockFile:
    """The whole file."""

    version: Literal[1]
    block: tuple[LockEntry, ...] = ()
    mcp: tuple[ServerSection, ...] = ()
    authority: tuple[Mapping[str, Any], ...] = ()
    tuned: tuple[Mapping[str, Any], ...] = ()


LEARNED_SUFFIX = "-learned"
"""The mode suffix for code that was learned from examples."""


def hash_code(code: str) -> str:
    """Return a short digest of code; leading and trailing blank lines do not count."""
    return hashlib.sha256(code.strip().encode()).hexdigest()[:16]


def add_unwritten(written: StaticLock, before: StaticLock) -> StaticLock:
    """Return the lock with the earlier entries of blocks that it has no code for."""
    names = {name for name, _ in written.entries}
    kept = {key: entry for key, entry in before.entries.items() if key[0] not in names}
    return replace(written, entries={**kept, **written.entries})


def transfer_changes(before: StaticLock, after: StaticLock, current: StaticLock) -> StaticLock:
    """Return `current` with the changes from `before` to `after`, except in code edited since."""
    edited = {
        key: entry
        for key, entry in current.entries.items()
        if entry.is_edited and entry != before.entries.get(key)
    }
    entries = _transfer_items(before.entries, after.entries, current.entries)
    servers = _transfer_items(before.servers, after.servers, current.servers)
    return StaticLock({**entries, **edited}, servers, current.kept)


def _transfer_items(
    before: Mapping[Key, Value], after: Mapping[Key, Value], current: Mapping[Key, Value]
) -> dict[Key, Value]:
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    removed = before.keys() - after.keys()
    return {key: value for key, value in {**current, **changed}.items() if key not in removed}


def describe_authors(entries: Sequence[LockEntry]) -> str:
    """Return the authors of a file's code, and the results of its program's checks."""
    codes = [entry for entry in entries if not entry.live]
    models = ", ".join(sorted({entry.model for entry in codes or entries}))
    if not entries:
        return ""
    if not codes:
        return f"no code by {models or 'a model'} is used: the blocks run live"
    edited = ", edited" * any(entry.is_edited for entry in codes)
    found = {entry.checks for entry in codes}
    checks = found.pop() if len(found) == 1 else None
    unchecked = "the checks of its program were not run"
    verdict = f"passes {checks}" if checks and not edited else unchecked
    live = len(entries) - len(codes)
    rest = f"; {live} of {len(entries)} blocks run live" if live else ""
    return f"code by {models or 'a model'}{edited}; {verdict}{rest}"


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
        line, path = _locate(text, first["loc"]), ".".join(map(str, first["loc"]))
        problem = first["msg"].replace(*_UNKNOWN_KEY)
        raise ConfigurationError(f"{file}:{line}: `{path}`: {problem}; {_WAY_OUT}") from None
    if unknown := sorted(document.keys() - {"version", "block", "mcp", *KEPT_SECTIONS}):
        raise ConfigurationError(f"{file}: `{unknown[0]}` is not a section of a lock; {_WAY_OUT}")
    for index, entry in enumerate(read.block):
        if entry.mode.removesuffix(LEARNED_SUFFIX) not in (*OPTION_CHOICES["mode"], *REMOVED_MODES):
            line = _locate(text, ("block", index, "mode"))
            raise ConfigurationError(f"{file}:{line}: `{entry.mode}` is not a mode; {_WAY_OUT}")
    names = [f"{entry.name} ({entry.mode})" for entry in read.block]
    for index, name in enumerate(names):
        if name in names[:index]:
            line = _locate(text, ("block", index, "name"))
            raise ConfigurationError(f"{file}:{line}: `{name}` is there twice; keep one of them")
    servers = {section.name: section for section in read.mcp}
    kept = [(kind, section) for kind in KEPT_SECTIONS for section in getattr(read, kind)]
    return StaticLock({}, servers, tuple(kept)).with_entries(read.block)


KEPT_SECTIONS = ("authority", "tuned")
"""The sections of njc 0.2 that are written back as they were read."""


_UNKNOWN_KEY = ("Unexpected keyword argument", "this njc knows no such key")
_WAY_OUT = "correct it, install the njc that wrote it, or delete the file and build again"


def _locate(text: str, path: Sequence[str | int]) -> int:
    """Return the line of a key in the file, or of the block that lacks it."""
    lines = text.split("\n")
    heads = {
        number: line.strip(" \t[]")
        for number, line in enumerate(lines, 1)
        if line.strip().startswith("[[") and not _is_in_string(lines[: number - 1])
    }
    own = [0, *(number for number, kind in heads.items() if kind == path[0])]
    head = own[path[1] + 1] if len(own) > 1 and isinstance(path[1], int) else 0
    key = next((part for part in path[2 if head else 0 :] if isinstance(part, str)), "")
    end = next((number for number in heads if number > head), len(lines) + 1)
    found = (n for n in range(head + 1, end) if re.match(rf"\s*{re.escape(key)}\s*=", lines[n - 1]))
    return next(found, max(head, 1))


def _is_in_string(lines: Sequence[str]) -> bool:
    """Return whether these lines end within a multi-line string."""
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return True
    return False


def format_lock(lock: StaticLock) -> str:
    """Format a lock as text, with its entries in the order of their names."""
    sections = [
        *(("block", _list_entry_fields(it)) for _, it in sorted(lock.entries.items())),
        *lock.kept,
        *(("mcp", _list_server_fields(it)) for _, it in sorted(lock.servers.items())),
    ]
    return "\n".join([_FILE_HEAD, *(_format_section(*section) for section in sections)])


_MULTILINE = ("instruction", "rationale", "code")


def _format_section(kind: str, fields: Mapping[str, Any]) -> str:
    """Write a section of the file, without the keys that have None."""
    lines = [f"[[{kind}]]"]
    for key, value in fields.items():
        if key == "examples" and value is not None:
            lines += ["examples = [", *(f"  {_format_value(each)}," for each in value), "]"]
        elif value is not None:
            write = _format_multiline_string if key in _MULTILINE else _format_value
            lines.append(f"{key} = {write(value)}")
    return "\n".join(lines) + "\n"


def _list_server_fields(section: ServerSection) -> dict[str, Any]:
    given = asdict(section).items()
    return {key: value for key, value in given if value and (key, value) != ("timeout", 60.0)}


_ENTRY_KEYS = (
    *(
        "name",
        "mode",
        "meaning",
        "model",
        "date",
        "attempts",
        "tokens",
        "usd",
        "digest",
        "edited",
        "reviewed",
    ),
    *("score", "checks", "shapes", "contract", "live", "rationale", "code"),
)


def _list_entry_fields(entry: LockEntry) -> dict[str, Any]:
    fields = asdict(entry) | {"edited": entry.is_edited}
    fields["shapes"] = dict(sorted(entry.shapes.items()))
    for key in ("edited", "shapes", "contract", "live", "rationale"):
        fields[key] = fields[key] or None
    if entry.checks:
        fields["checks"] = {key: it for key, it in fields["checks"].items() if it != ""}
    return {key: fields[key] for key in _ENTRY_KEYS}


def _format_value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.6f}"
        case str():
            return _format_string(value)
        case list() | tuple():
            return f"[{', '.join(map(_format_value, value))}]"
        case dict():
            pairs = (f"{_format_key(key)} = {_format_value(part)}" for key, part in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case _:
            return str(value)


def _format_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _format_string(name)


_NEEDS_ESCAPES = re.compile(r"'''|[\x00-\x08\x0b-\x1f\x7f]")


def _format_string(text: str) -> str:
    """Return a TOML string on one line; TOML has JSON's escapes except for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_multiline_string(code: str) -> str:
    """Return a TOML string over several lines, without escapes if possible."""
    if not _NEEDS_ESCAPES.search(code):
        return f"'''\n{code.rstrip()}\n'''" if code.strip() else '""'
    lines = (_format_string(line)[1:-1] for line in code.rstrip().split("\n"))
    return '"""\n' + "\n".join(lines) + '\n"""'
