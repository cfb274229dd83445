"""The manifest: the allowed needs of each block, as `[[authority]]` sections of njc.lock.

    [[authority]]
    file = "mail.njpy"
    instruction = "Sort <mail> into <:kind>."
    effects = ["Run"]
    imports = ["json"]

    with njrt.using(manifest="njc.lock"):        an effect that needs more is rejected,
        triage(mailbox)                          a block without a section is ended by `PolicyError`

A block is found by its file and its whole instruction, which is empty for questions of `njrt.llm` and `ask`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from njrt.dataclass_json import NO_OTHER_KEYS, InvalidJsonError, validate_value
from njrt.decisions import Abort, Accept, Decision, PendingEffect, Reject
from njrt.effects import AskModel
from njrt.errors import ConfigurationError, PolicyError
from njrt.production.approval.needs import EffectNeeds, find_needs
from njrt.records import field, fields, record

BlockKey = tuple[str, str]
"""The file of a block, relative to its root, and its instruction."""


@record
class BlockAuthority:
    """The needs that are allowed to one block, as in the file."""

    __pydantic_config__ = NO_OTHER_KEYS
    file: str
    instruction: str
    effects: list[str] = field(default_factory=list)
    jumps: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    @property
    def key(self) -> BlockKey:
        return self.file, self.instruction.strip("\n")

    @property
    def allowed(self) -> EffectNeeds:
        """The allowed needs of the block's effects."""
        return EffectNeeds(*(frozenset(getattr(self, part.name)) for part in fields(EffectNeeds)))


def make_authority(key: BlockKey, needs: EffectNeeds) -> BlockAuthority:
    """Return a section that allows exactly these needs."""
    return BlockAuthority(*key, *map(sorted, needs.parts.values()))


def find_block_key(place: str, instruction: str, effect: object) -> BlockKey:
    """Return the key of the section that an effect belongs to."""
    return place.rpartition(":")[0], "" if isinstance(effect, AskModel) else instruction


class Manifest:
    """The interceptor that enforces a manifest; it is asked last, so that it sees edited effects."""

    def __init__(self, path: str, authorities: Iterable[BlockAuthority]) -> None:
        self._path = path
        self._allowed: Mapping[BlockKey, EffectNeeds] = {
            authority.key: authority.allowed for authority in authorities
        }

    def __call__(self, pending: PendingEffect) -> Decision:
        key = find_block_key(pending.place, pending.instruction, pending.effect)
        allowed = self._allowed.get(key)
        if allowed is None:
            what = "this block" if key[1] else f"questions of {key[0] or 'njrt.llm'}"
            return Abort(
                PolicyError(
                    f"{pending.place or 'njrt.llm'}: the manifest {self._path} does not have {what}; "
                    "`njc lock --authority` adds it from a recording or a trace"
                )
            )
        try:
            missing = find_needs(pending.effect) - allowed
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Reject(f"the code cannot be read as Python: {error}")
        if missing:
            return Reject(f"this program does not allow that here ({missing}); do it without")
        return Accept()


def read_manifest(path: str | Path) -> Manifest:
    """Read the manifest in a lock file."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        authorities = validate_value(document.get("authority", ()), tuple[BlockAuthority, ...])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, InvalidJsonError) as error:
        raise ConfigurationError(
            f"the manifest {path} cannot be read: {error}; `njc lock --authority` writes one"
        ) from None
    return Manifest(str(path), authorities)
