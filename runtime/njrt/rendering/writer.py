"""The pen that writes a value on one line: room, nesting, cycles and failures, whatever the value is.

    pen.brief(value, 40)      at most 40 characters, shortened if need be
    pen.whole(value, 40)      all of the value in at most 40 characters, or None

How each kind of value is written stands in `brief.py`; a pen is given the way to find it. What surely
does not fit is not even tried, so that the work depends on the room and never on the size of the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from njrt.outcome import UserValue
from njrt.timeouts import Allowance, DeadlineExceeded
from njrt.values.introspection import get_class_name, is_a

REPR_SECONDS, TOTAL_REPR_SECONDS = 0.2, 1.0
"""How long a `__repr__` of the program may run, and how long all those that one text needs."""
MIN_SHOWN_ITEMS, MAX_SHOWN_ITEMS = 3, 8
"""Items shown of a collection that does not fit: a few, shortened if need be, then more if they are short."""
ATOMIC_TYPES = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})
"""Classes whose instances hold nothing else."""
MAX_DEPTH_WHOLE, MAX_DEPTH_BRIEF = 8, 4
"""Levels of nesting shown of a value that fits, and of one that does not."""

_UNSTABLE_TEXT = re.compile(
    r" at 0x[0-9A-Fa-f]+| owner=\d+(?= count)| id='\d+'|(?<=started) \d+(?=\)>)|(?<=daemon) \d+(?=\)>)"
)
_LITERAL = r"(?:'[^'\\{}]*'|-?[0-9][\w.]*)"
_SET_DISPLAY = re.compile(rf"\{{{_LITERAL}(?:, {_LITERAL})+\}}")


class DoesNotFit(Exception):
    """The value does not fit as a whole."""


def escape_unprintable(text: str) -> str:
    """Escape control characters, lone surrogates and the like, so that any terminal and encoder takes it."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def clip(text: str, room: int) -> str:
    """Cut a text to `room` characters, the last three of which then say that it goes on."""
    return text if len(text) <= room else text[: max(0, room - 3)] + "..."


def remove_unstable_parts(text: str) -> str:
    """Take out of a repr what differs between processes: addresses, identities, the order of sets."""
    text = _UNSTABLE_TEXT.sub("", text)
    return _SET_DISPLAY.sub(
        lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}", text
    )


class ValueWriter:
    """Writes one value with all that is inside it; remembers the way down, and whose `__repr__` hung."""

    def __init__(self, writer_of: Callable[[type], WriteFunction]) -> None:
        self._writer_of = writer_of
        self._writers: dict[int, WriteFunction] = {}
        self._path: list[int] = []
        self._too_long: dict[int, tuple[int, UserValue]] = {}
        self._hung: set[int] = set()
        self._allowance = Allowance(TOTAL_REPR_SECONDS)

    def write_brief(self, value: UserValue, room: int) -> str:
        """Write `value` in at most `room` characters."""
        text = self.write_whole(value, room)
        return clip(self._write(value, room, False), room) if text is None else text

    def write_whole(self, value: UserValue, room: int) -> str | None:
        """Write all of `value` in at most `room` characters, or give None."""
        try:
            text = self._write(value, room, True)
        except DoesNotFit:
            return None
        return text if len(text) <= room else None

    def _write(self, value: UserValue, room: int, exact: bool) -> str:
        """Write `value`; where all of it is asked for (`exact`) and does not fit, raise `DoesNotFit`."""
        cls = type(value)
        writer = self._writers.get(id(cls))
        if writer is None:
            writer = self._writers[id(cls)] = self._writer_of(cls)
        if type(cls) is type and cls in ATOMIC_TYPES:
            return writer(self, value, room, exact)
        if id(value) in self._path:
            return _abbreviate(value)
        if len(self._path) >= (MAX_DEPTH_WHOLE if exact else MAX_DEPTH_BRIEF):
            if exact:
                raise DoesNotFit
            return _abbreviate(value)
        # What did not fit once is not tried again in less room: else each level would try all below it.
        if exact and self._too_long.get(id(value), (-1,))[0] >= room:
            raise DoesNotFit
        self._path.append(id(value))
        try:
            return writer(self, value, room, exact)
        except DoesNotFit:
            self._too_long[id(value)] = room, value
            raise
        except KeyboardInterrupt:
            raise
        except Exception as error:
            # Another thread has changed the value meanwhile, or a stranger thing has happened.
            return f"<{get_class_name(cls)} that cannot be shown: {get_class_name(type(error))}>"
        finally:
            self._path.pop()

    def inside(self, value: UserValue, room: int, exact: bool) -> str:
        """Write a part of the value being written: all of it (`exact`, or `DoesNotFit`), or shortened."""
        return self._write(value, room, True) if exact else self.write_brief(value, room)

    def write_row(
        self,
        opening: str,
        parts: Iterable[tuple[str, UserValue]],
        length: int,
        closing: str,
        room: int,
        exact: bool,
        least: int = 1,
    ) -> str:
        """Write `opening part, part, ... closing`, each part with its label before it, as far as they fit.

        `least` is how many characters each of them takes at least: what can no longer fit is given up early.
        """
        left = room - len(opening) - len(closing)
        if exact and (least + 2) * length - 2 > left:
            raise DoesNotFit
        written: list[str] = []
        for label, value in parts:
            if not exact and len(written) >= MAX_SHOWN_ITEMS:
                break
            enough = len(written) >= MIN_SHOWN_ITEMS
            part = self._write_row_part(value, left - len(label), length, exact, enough)
            if part is None:
                break
            text = label + part
            # An abbreviated row must keep room for the ", ..." that ends it.
            over = len(text) > left - (0 if exact or len(written) + 1 == length else 5)
            if over and exact:
                raise DoesNotFit
            if over:
                break
            written.append(text)
            left -= len(text) + 2
            if exact and (least + 2) * (length - len(written)) - 2 > left:
                raise DoesNotFit
        if len(written) < length:
            written.append("...")
        return opening + ", ".join(written) + closing

    def _write_row_part(
        self, value: UserValue, left: int, length: int, exact: bool, enough: bool
    ) -> str | None:
        """Write one part of a row; once there are enough, only one that fits as a whole."""
        if exact:
            return self._write(value, left, True)
        share = left if length == 1 else min(left, max(24, left // 3))
        return self.write_whole(value, share) if enough else self.write_brief(value, share)

    def label_values(
        self, pairs: Iterable[tuple[UserValue, UserValue]], room: int, exact: bool
    ) -> Iterator[tuple[str, UserValue]]:
        """Write the keys of a dict, so that they can stand as labels of its values."""
        for key, value in pairs:
            yield self.inside(key, room if exact else max(16, room // 3), exact) + ": ", value

    def write_repr(self, value: UserValue, room: int) -> str:
        """Write what the `__repr__` of the value says, or how it fails."""
        cls = type(value)
        if id(cls) in self._hung or self._allowance.left <= 0:
            return f"<{get_class_name(cls)}>"
        try:
            text = self._allowance.call(REPR_SECONDS, lambda: repr(value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._describe_repr_failure(cls, error)
        return escape_unprintable(remove_unstable_parts(clip(str.__str__(text), 4 * room)))

    def _describe_repr_failure(self, cls: type, error: BaseException) -> str:
        if type(error) is DeadlineExceeded:
            self._hung.add(id(cls))
            return f"<{get_class_name(cls)} whose __repr__ took longer than {REPR_SECONDS:g} s>"
        message = error.args[0] if error.args and type(error.args[0]) is str else ""
        failure = get_class_name(type(error)) + (
            f": {escape_unprintable(message[:80])}" if message else ""
        )
        return f"<{get_class_name(cls)} whose __repr__ raised {failure}>"


def _abbreviate(value: UserValue) -> str:
    """Stand for a value that would lead deeper than is shown, or back into itself."""
    for kind, text in ((dict, "{...}"), (list, "[...]"), (tuple, "(...)"), (set, "{...}")):
        if is_a(value, kind):
            return text
    return f"{get_class_name(type(value))}(...)"


WriteFunction = Callable[[ValueWriter, Any, int, bool], str]
"""Writes one kind of value: (pen, value, room, exact) -> text."""
