"""Compare our answer to an effect with the recorded answer, and map the recorded names to ours.

    recorded                                   ours
    "[1, 2]"                                   [1, 2]                  equivalent
    {"type": "Ref", "addr": 41}                Enemy(...)\\n{Ref 2}     41 is our 2
    {"type": "list", "items": [2, {Ref 5}]}    [3, {Ref 7}]            differ, but 5 is our 7
    "Error during tool call: ..."              `y` is not bound yet    both refuse: equivalent

Values are compared, not texts. Not detected: attributes that only one answer shows, the missing
rest of a shortened answer, and whether two errors have the same cause. Two references are
equivalent if they may be the same object.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from njrt.effects import WireValue

ELISION = "..."
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference in an answer; it has no address if it cannot be used in a later effect."""

    address: int | None


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes shown of an object or a class in an answer."""

    values: Mapping[str, Any]


class NameMap:
    """Maps a block's recorded references and UUIDs to ours (state: the names in answers so far)."""

    def __init__(self, references: Mapping[int, int] = {}, uuids: Mapping[str, str] = {}) -> None:
        self.references = dict(references)
        self.uuids = dict(uuids)

    def learn(self, recorded: Any, ours: Any) -> None:
        """Learn from two values at the same place in two answers, even if they differ elsewhere."""
        match recorded, ours:
            case Reference(int(theirs)), Reference(int(mine)):
                self.references[theirs] = mine
            case Attributes(theirs), Attributes(mine):
                self.learn(theirs, mine)
            case dict(), dict():
                for key in recorded.keys() & ours.keys():
                    self.learn(recorded[key], ours[key])
            case list(), list():
                for theirs, mine in zip(recorded, ours, strict=False):
                    self.learn(theirs, mine)
            case str(), str():
                found, own = UUID.findall(recorded), UUID.findall(ours)
                if len(found) == len(own):
                    self.uuids.update(zip(found, own, strict=True))

    def translate(self, wire: WireValue) -> WireValue:
        """Return a recorded argument with our references and UUIDs.

        An object is sent without attributes that refer to objects none of our answers has shown,
        such as methods and inherited attributes.
        """
        match wire:
            case {"type": "Ref", "addr": int(address)}:
                return {"type": "Ref", "addr": self.references.get(address, address)}
            case {"attributes": [*pairs]}:
                known = [pair for pair in pairs if not self._is_unknown(pair["value"])]
                rest = {key: value for key, value in wire.items() if key != "attributes"}
                return self.translate(rest) | {"attributes": self.translate(known)}
            case Mapping():
                return {key: self.translate(value) for key, value in wire.items()}
            case list():
                return [self.translate(item) for item in wire]
            case str():
                return UUID.sub(lambda found: self.uuids.get(found[0], found[0]), wire)
            case _:
                return wire

    def _is_unknown(self, wire: WireValue) -> bool:
        is_reference = isinstance(wire, Mapping) and wire.get("type") == "Ref"
        return is_reference and wire["addr"] not in self.references


def compare_answers(recorded: WireValue, ours: str, failed: bool, names: NameMap) -> bool:
    """Return whether our answer, a refusal if it `failed`, matches the recorded; update `names`."""
    if isinstance(recorded, str) and recorded.startswith("Error"):
        return failed
    if failed:
        return False
    before = NameMap(names.references, names.uuids)
    pairs = [
        (theirs, mine)
        for theirs in list_interpretations(recorded)
        for mine in list_interpretations(ours)
    ]
    for theirs, mine in pairs:
        names.learn(theirs, mine)
    if recorded == "Success" or ELISION in ours or " at 0x" in str(recorded):
        return True
    return any(is_equivalent(theirs, mine, before) for theirs, mine in pairs)


def list_interpretations(answer: WireValue, depth: int = 2) -> Iterator[Any]:
    """Yield an answer's possible values: itself, and its text and last line read as JSON or Python.

    The answer to `str(prices)` is `[1, 2]` there and `'[1, 2]'` here, so a text is read twice. In
    effect sets with references, our answers end in a line with the reference.
    """
    yield parse_wire(answer)
    if isinstance(answer, str) and depth:
        values: dict[str, Any] = {}
        for text in (answer, answer.rpartition("\n")[2]):
            for read in (json.loads, ast.literal_eval):
                try:
                    values.setdefault(text, read(text))
                except (ValueError, SyntaxError, RecursionError, MemoryError):
                    continue
        for value in values.values():
            yield from list_interpretations(value, depth - 1)


def parse_wire(wire: Any) -> Any:
    """Return a recorded value or one of ours as Python values, `Reference` and `Attributes`."""
    match wire:
        case {"type": "Ref", "addr": int(address)}:
            return Reference(address)
        case {"value_type": "object"}:
            return Reference(None)
        case {"type": "dict", "items": [*pairs]}:
            return dict(map(parse_pair, pairs))
        case {"attributes": [*pairs]}:
            return Attributes(dict(map(parse_pair, pairs)))
        case {"attributes": Mapping() as attributes}:
            together = wire.get("class attributes", {}) | attributes
            return Attributes({name: parse_wire(value) for name, value in together.items()})
        case {"items": [*items]}:
            return [parse_wire(item) for item in items]
        case {"type": "datetime", "value": value} | {"text": value}:
            return value
        case Mapping():
            return {key: parse_wire(value) for key, value in wire.items()}
        case list() | tuple():
            return [parse_wire(item) for item in wire]
        case _:
            return wire


def parse_pair(pair: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return a pair from a dict or from attributes; an object key is represented by its text."""
    key = pair["key"]
    return key if isinstance(key, str | int | float | None) else str(key), parse_wire(pair["value"])


def is_equivalent(recorded: Any, ours: Any, before: NameMap) -> bool:
    """Return whether two values are equal.

    References and UUIDs may differ unless `before` maps them otherwise.
    """
    match recorded, ours:
        case Reference(int(theirs)), Reference(int(mine)):
            return before.references.get(theirs, mine) == mine
        case Reference(), str(text) if '"Ref"' in text:
            return False  # a reference in this text is compared by its number
        case Reference(), _:
            return True
        case Attributes(theirs), Attributes(mine):
            shared = theirs.keys() & mine.keys()
            return all(is_equivalent(theirs[name], mine[name], before) for name in shared)
        case dict(), dict():
            return recorded.keys() == ours.keys() and all(
                is_equivalent(value, ours[key], before) for key, value in recorded.items()
            )
        case list(), list():
            return len(recorded) == len(ours) and all(
                is_equivalent(theirs, mine, before)
                for theirs, mine in zip(recorded, ours, strict=True)
            )
        case str(), str():
            pairs = zip(UUID.findall(recorded), UUID.findall(ours), strict=False)
            return UUID.sub("UUID", recorded) == UUID.sub("UUID", ours) and all(
                before.uuids.get(theirs, mine) == mine for theirs, mine in pairs
            )
        case _:
            return type(recorded) is type(ours) and bool(recorded == ours)
