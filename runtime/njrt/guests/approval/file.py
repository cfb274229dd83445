"""A person's decisions in a JSON Lines file, which apply to equal effects of the same block."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from njrt.data.decisions import Accept, Decision, Edit, PendingEffect, Reject
from njrt.data.message_json import hash_json
from njrt.data.private_files import append_private_line, drop_cut_line
from njrt.data.records import record
from njrt.errors import ConfigurationError
from njrt.values.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.values.effect_json import (
    decision_from_json,
    decision_to_json,
    effect_from_json,
    effect_to_json,
)

ApprovalScope = Literal["once", "code", "kind"]


@record
class ApprovalLine:
    """One decision in the file."""

    at: str
    scope: ApprovalScope
    place: str
    instruction: list[str]
    block: str
    """A digest of the block's file, instruction and effect set."""
    effect: dict[str, Any]
    decision: dict[str, Any]
    digest: str = ""
    """A digest of a call's full arguments; older versions' lines have none."""

    def applies_to(self, block: str, effect: dict[str, Any], digest: str = "") -> bool:
        """Return whether this line decides about a block's effect."""
        if self.scope == "once" or block != self.block:
            return False
        if self.scope == "kind":
            return all(effect.get(name) == self.effect.get(name) for name in ("kind", "function"))
        return effect == self.effect and self.digest in ("", digest)


class ApprovalsFile:
    """The decisions in a file, or only in memory if there is no path (state: the lines)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @cached_property
    def lines(self) -> list[ApprovalLine]:
        """All decisions; the file is read when first needed."""
        return read_approvals(self.path) if self.path and self.path.exists() else []

    def find(self, pending: PendingEffect) -> Decision | None:
        """Return the earlier decision about an equal effect of an equal block."""
        block, effect = _make_block_digest(pending), effect_to_json(pending.effect)
        for line in reversed(self.lines):
            if line.applies_to(block, effect, pending.digest):
                return decision_from_json(line.decision)
        return None

    def add(
        self, pending: PendingEffect, decision: Accept | Edit | Reject, scope: ApprovalScope
    ) -> Decision:
        """Add a decision about the effect and write it immediately; return it."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        instruction, effect = pending.instruction.split("\n"), effect_to_json(pending.effect)
        line = ApprovalLine(
            *(at, scope, pending.place, instruction, _make_block_digest(pending), effect),
            decision=decision_to_json(decision),
            digest=pending.digest,
        )
        self.lines.append(line)
        if self.path is None:
            return decision
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append_private_line(self.path, to_json(line))
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the decisions {self.path}: {error.strerror or error}; "
                "choose a file that can be written to"
            ) from None
        return decision


def _make_block_digest(pending: PendingEffect) -> str:
    return hash_json([pending.place.rpartition(":")[0], pending.instruction, pending.effects])


def read_approvals(path: Path) -> list[ApprovalLine]:
    """Read and check the decisions in a file."""
    try:
        text = drop_cut_line(path.read_bytes()).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the decisions {path}: {error}") from None
    lines: list[ApprovalLine] = []
    for number, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            line: ApprovalLine = from_json(written, ApprovalLine)
            effect_from_json(line.effect)
            decision_from_json(line.decision)
        except InvalidJsonError as error:
            raise ConfigurationError(
                f"{path}:{number}: this line is not a decision ({error}); correct or remove it"
            ) from None
        lines.append(line)
    return lines
