"""The decisions of a person, as JSON Lines to be reviewed: `njrt.approve(decisions="approvals.jsonl")`.

    {"at": "2026-03-01T09:30:00Z", "scope": "code", "place": "mail.njpy:12", "instruction": ["Sort <mail>."],
     "block": "51f0…", "effect": {"kind": "Run", "code": "total += 1", "done": true}, "decision": {"decision": "accept"}}

A line of the scope `code` decides again about an equal effect of an equal block, one of the scope `kind` about each
effect of this kind there; one of the scope `once` is there to be read. A block is equal if its file and its
instruction are; its line may change. Lines may be removed by hand; of two that apply the last one counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from njrt.decisions import Accept, Decision, Edit, PendingEffect, Reject
from njrt.effect_json import decision_from_json, decision_to_json, effect_from_json, effect_to_json
from njrt.effects import Effect
from njrt.errors import ConfigurationError
from njrt.message_json import hash_json
from njrt.private_files import open_private
from njrt.typed_json import InvalidJsonError, from_json, to_json

ApprovalScope = Literal["once", "code", "kind"]


@dataclass(frozen=True, slots=True)
class ApprovalLine:
    """One decision, as it is in the file."""

    at: str
    scope: ApprovalScope
    place: str
    instruction: list[str]
    block: str
    effect: dict[str, Any]
    decision: dict[str, Any]

    def applies_to(self, block: str, effect: dict[str, Any]) -> bool:
        """Return whether this line decides about an effect of a block."""
        if self.scope == "once" or block != self.block:
            return False
        if self.scope == "kind":
            same = effect["kind"] == self.effect["kind"]
            return bool(same and effect.get("function") == self.effect.get("function"))
        return effect == self.effect


def make_block_digest(pending: PendingEffect) -> str:
    """Return what makes two blocks equal: the file and the instruction; of a question, the file."""
    return hash_json([pending.place.rpartition(":")[0], pending.instruction, pending.effects])


class ApprovalsFile:
    """The decisions in a file, or only in memory without a path (state: the lines)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lines: list[ApprovalLine] | None = None

    @property
    def lines(self) -> list[ApprovalLine]:
        """All decisions; the file is read when they are first needed."""
        if self._lines is None:
            is_file = self.path is not None and self.path.exists()
            self._lines = list(read_approvals(self.path)) if is_file and self.path else []
        return self._lines

    def find(self, pending: PendingEffect) -> Decision | None:
        """Return what was decided before about an equal effect of an equal block."""
        block, effect = make_block_digest(pending), effect_to_json(pending.effect)
        for line in reversed(self.lines):
            if line.applies_to(block, effect):
                return decision_from_json(line.decision)
        return None

    def add(
        self,
        pending: PendingEffect,
        effect: Effect,
        decision: Accept | Edit | Reject,
        scope: ApprovalScope,
        at: str,
    ) -> None:
        """Add a decision about `effect`, and write it at once."""
        line = ApprovalLine(
            at,
            scope,
            pending.place,
            pending.instruction.split("\n"),
            make_block_digest(pending),
            effect_to_json(effect),
            decision_to_json(decision),
        )
        self.lines.append(line)
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = open_private(self.path, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(handle, "ab") as file:
                file.write(to_json(line).encode() + b"\n")
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the decisions {self.path}: {error.strerror or error}; "
                "choose a file that can be written to"
            ) from None


def read_approvals(path: Path) -> Iterator[ApprovalLine]:
    """Read and check the decisions in a file."""
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the decisions {path}: {error}") from None
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
        yield line
