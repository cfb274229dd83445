"""Whether our answer to an effect says what the recorded one says.

    recorded                                        ours
    "Success"                                       (ran; no value)                            agree
    10                                              10                                         agree
    "[1, 2]"                                        [1, 2]                                     agree
    {"type": "Ref", "addr": 967}                    {"type": "Ref", "addr": 1, ...}            967 is our 1
    {"type": "list", "items": [2, 3]}               [2, 3]                                     agree
    "Error during tool call: ..."                   `y` is not bound yet                       agree: both refuse
    {'sushi': 9}                                    {'sushi': 10}                              differ

The two were written by different programs: what is compared is what they mean. A bare reference says nothing
but which object it is, and an answer that we have shortened is not compared.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any

from njrt.effects import WireValue

ELISION = "..."
OBJECT_KINDS = ("Object", "Class")


class AddressMap:
    """Which of our references stands for which recorded one, in one block (state: what has been learned)."""

    def __init__(self) -> None:
        self.ours: dict[int, int] = {}

    def register(self, recorded: int, ours: int) -> bool:
        """Take note that two references mean the same object; False where the recorded one means another."""
        return self.ours.setdefault(recorded, ours) == ours

    def translated(self, wire: WireValue) -> WireValue:
        """An argument as our runtime takes it: our addresses, and our spelling of lists and objects."""
        match wire:
            case {"type": "Ref", "addr": int(address)}:
                return {"type": "Ref", "addr": self.ours.get(address, address)}
            case {"type": "list" | "tuple", "items": list(items)}:
                return [self.translated(item) for item in items]
            case {"type": "Object", "attributes": list(pairs)}:
                return {pair["key"]: self.translated(pair["value"]) for pair in pairs}
            case Mapping():
                return {key: self.translated(value) for key, value in wire.items()}
            case list():
                return [self.translated(item) for item in wire]
            case _:
                return wire


def is_equivalent_answer(
    recorded: WireValue, ours: str, failed: bool, addresses: AddressMap
) -> bool:
    """Whether our answer `ours`, a refusal if it `failed`, says what the recorded one says."""
    if recorded == ours:
        return True
    if isinstance(recorded, str) and recorded.startswith("Error"):
        return failed
    if failed:
        return False
    if recorded == "Success" or ELISION in ours or " at 0x" in str(recorded):
        return True
    return any(
        is_equivalent_value(theirs, mine, addresses)
        for theirs in list_interpretations(recorded)
        for mine in list_interpretations(ours)
    )


def list_interpretations(written: WireValue, depth: int = 2) -> Iterator[Any]:
    """What an answer may mean: the value itself, and what its text says as JSON or as Python.

    `str(prices)` is answered by `[1, 2]` there and by `'[1, 2]'` here, which is why a text is read twice.
    """
    yield written
    if isinstance(written, str) and depth:
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(written)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            yield from list_interpretations(value, depth - 1)


def is_equivalent_value(recorded: Any, ours: Any, addresses: AddressMap) -> bool:
    """Whether two values are the same, up to the numbers of references; learns those on the way."""
    match recorded, ours:
        case {"type": "Ref", "addr": int(theirs)}, {"type": "Ref", "addr": int(mine)}:
            return addresses.register(theirs, mine)
        case {"type": "Ref"}, str(text) if "Ref" in text:
            return False  # this text has been read, too, and then it is the number that counts
        case (({"type": "Ref"} | {"value_type": "object"}), _):
            return True
        case {"type": "list" | "tuple", "items": list(items)}, _:
            return is_equivalent_value(
                items, ours.get("items") if isinstance(ours, Mapping) else ours, addresses
            )
        case {"type": "dict", "items": list(items)}, {"type": "dict", "items": list(others)}:
            return is_equivalent_value(items, others, addresses)
        case {"type": str(kind), "attributes": list(pairs)}, {"attributes": Mapping() as mine}:
            recalled = {pair["key"]: pair["value"] for pair in pairs}
            shared = [name for name in mine if name in recalled]
            return kind in OBJECT_KINDS and all(
                is_equivalent_value(recalled[name], mine[name], addresses) for name in shared
            )
        case Mapping(), Mapping():
            return recorded.keys() == ours.keys() and all(
                is_equivalent_value(value, ours[key], addresses) for key, value in recorded.items()
            )
        case list(), list():
            return len(recorded) == len(ours) and all(
                is_equivalent_value(theirs, mine, addresses)
                for theirs, mine in zip(recorded, ours, strict=True)
            )
        case _:
            return type(recorded) is type(ours) and bool(recorded == ours)
