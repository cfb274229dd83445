"""Digest values by content, to tell calls with different arguments apart without storing these."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from njrt.data.outcome import UserValue
from njrt.values.encode import MAX_ENCODED_OBJECTS, Encoder, NotEncodableError
from njrt.values.introspection import find_member, is_exactly

_DIGITS = 16


def digest_value(value: UserValue) -> str:
    """Return a digest, the same for equal values in every process, even if they share other parts.

    Raises NotEncodableError for objects with unknown state, and the exceptions of the program's own
    code.
    """
    return _Digester().digest(value)[:_DIGITS]


@dataclass(slots=True)
class _Digester(Encoder):
    """Digests values (state: the objects so far, by identity)."""

    digests: dict[int, str] = field(default_factory=dict)
    kept: list[UserValue] = field(default_factory=list)

    def register_name(self, thing: Any) -> str:
        return str(getattr(thing, "__qualname__", "?"))

    def digest(self, value: UserValue) -> str:
        if is_exactly(value, bool, int, float, str, bytes, type(None)):
            return _hash(repr(value))
        if id(value) in self.digests:
            return self.digests[id(value)]
        if len(self.digests) > MAX_ENCODED_OBJECTS:
            raise NotEncodableError(f"more than {MAX_ENCODED_OBJECTS:,} objects")
        self.digests[id(value)] = "itself"
        name, positional, named = self.take_apart(value)
        self.kept.append((value, positional, named))  # so that no id is reused
        if type(value) is dict:
            parts = sorted(self.digest(key) + self.digest(item) for key, item in value.items())
        else:
            parts = list(map(self.digest, positional))
            if is_exactly(value, set, frozenset):
                parts.sort()
            own = [part for part in sorted(named) if not _is_cached(type(value), part)]
            parts += (f"{part}={self.digest(named[part])}" for part in own)
        made = self.digests[id(value)] = _hash(repr((type(value).__name__, name, parts)))
        return made


def _is_cached(cls: type, name: str) -> bool:
    """Return whether an attribute is computed from others when it is first read."""
    return isinstance(find_member(cls, name), cached_property)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
