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
from njrt.timeouts import Allowance, OutOfTime
from njrt.values.introspection import class_name, is_a

REPR_SECONDS, ALL_REPR_SECONDS = 0.2, 1.0
"""How long a `__repr__` of the program may run, and how long all those that one text needs."""
FEW_ITEMS, MOST_ITEMS = 3, 8
"""Items shown of a collection that does not fit: a few, shortened if need be, then more if they are short."""
ATOMS = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})
"""Classes whose instances hold nothing else."""
DEEPEST_WHOLE, DEEPEST_SHORT = 8, 4
"""Levels of nesting shown of a value that fits, and of one that does not."""

_UNSTABLE = re.compile(
    r" at 0x[0-9A-Fa-f]+| owner=\d+(?= count)| id='\d+'|(?<=started) \d+(?=\)>)|(?<=daemon) \d+(?=\)>)"
)
_LITERAL = r"(?:'[^'\\{}]*'|-?[0-9][\w.]*)"
_SET_DISPLAY = re.compile(rf"\{{{_LITERAL}(?:, {_LITERAL})+\}}")


class TooLong(Exception):
    """The value does not fit as a whole."""


def printable(text: str) -> str:
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


def stable(text: str) -> str:
    """Take out of a repr what differs between processes: addresses, identities, the order of sets."""
    text = _UNSTABLE.sub("", text)
    return _SET_DISPLAY.sub(
        lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}", text
    )


class Pen:
    """Writes one value with all that is inside it; remembers the way down, and whose `__repr__` hung."""

    def __init__(self, writer_of: Callable[[type], Writer]) -> None:
        self._writer_of = writer_of
        self._writers: dict[int, Writer] = {}
        self._path: list[int] = []
        self._too_long: dict[int, tuple[int, UserValue]] = {}
        self._hung: set[int] = set()
        self._allowance = Allowance(ALL_REPR_SECONDS)

    def brief(self, value: UserValue, room: int) -> str:
        """Write `value` in at most `room` characters."""
        text = self.whole(value, room)
        return clip(self._write(value, room, False), room) if text is None else text

    def whole(self, value: UserValue, room: int) -> str | None:
        """Write all of `value` in at most `room` characters, or give None."""
        try:
            text = self._write(value, room, True)
        except TooLong:
            return None
        return text if len(text) <= room else None

    def _write(self, value: UserValue, room: int, exact: bool) -> str:
        """Write `value`; where all of it is asked for (`exact`) and does not fit, raise `TooLong`."""
        cls = type(value)
        writer = self._writers.get(id(cls))
        if writer is None:
            writer = self._writers[id(cls)] = self._writer_of(cls)
        if type(cls) is type and cls in ATOMS:
            return writer(self, value, room, exact)
        if id(value) in self._path:
            return _cut(value)
        if len(self._path) >= (DEEPEST_WHOLE if exact else DEEPEST_SHORT):
            if exact:
                raise TooLong
            return _cut(value)
        # What did not fit once is not tried again in less room: else each level would try all below it.
        if exact and self._too_long.get(id(value), (-1,))[0] >= room:
            raise TooLong
        self._path.append(id(value))
        try:
            return writer(self, value, room, exact)
        except TooLong:
            self._too_long[id(value)] = room, value
            raise
        except KeyboardInterrupt:
            raise
        except Exception as error:
            # Another thread has changed the value meanwhile, or a stranger thing has happened.
            return f"<{class_name(cls)} that cannot be shown: {class_name(type(error))}>"
        finally:
            self._path.pop()

    def inside(self, value: UserValue, room: int, exact: bool) -> str:
        """Write a part of the value being written: all of it (`exact`, or `TooLong`), or shortened."""
        return self._write(value, room, True) if exact else self.brief(value, room)

    def row(
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
            raise TooLong
        written: list[str] = []
        for label, value in parts:
            if not exact and len(written) >= MOST_ITEMS:
                break
            enough = len(written) >= FEW_ITEMS
            part = self._part(value, left - len(label), length, exact, enough)
            if part is None:
                break
            text = label + part
            # An abbreviated row must keep room for the ", ..." that ends it.
            over = len(text) > left - (0 if exact or len(written) + 1 == length else 5)
            if over and exact:
                raise TooLong
            if over:
                break
            written.append(text)
            left -= len(text) + 2
            if exact and (least + 2) * (length - len(written)) - 2 > left:
                raise TooLong
        if len(written) < length:
            written.append("...")
        return opening + ", ".join(written) + closing

    def _part(
        self, value: UserValue, left: int, length: int, exact: bool, enough: bool
    ) -> str | None:
        """Write one part of a row; once there are enough, only one that fits as a whole."""
        if exact:
            return self._write(value, left, True)
        share = left if length == 1 else min(left, max(24, left // 3))
        return self.whole(value, share) if enough else self.brief(value, share)

    def labelled(
        self, pairs: Iterable[tuple[UserValue, UserValue]], room: int, exact: bool
    ) -> Iterator[tuple[str, UserValue]]:
        """Write the keys of a dict, so that they can stand as labels of its values."""
        for key, value in pairs:
            yield self.inside(key, room if exact else max(16, room // 3), exact) + ": ", value

    def repr(self, value: UserValue, room: int) -> str:
        """Write what the `__repr__` of the value says, or how it fails."""
        cls = type(value)
        if id(cls) in self._hung or self._allowance.left <= 0:
            return f"<{class_name(cls)}>"
        try:
            text = self._allowance.within(REPR_SECONDS, lambda: repr(value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._broken(cls, error)
        return printable(stable(clip(str.__str__(text), 4 * room)))

    def _broken(self, cls: type, error: BaseException) -> str:
        if type(error) is OutOfTime:
            self._hung.add(id(cls))
            return f"<{class_name(cls)} whose __repr__ took longer than {REPR_SECONDS:g} s>"
        message = error.args[0] if error.args and type(error.args[0]) is str else ""
        failure = class_name(type(error)) + (f": {printable(message[:80])}" if message else "")
        return f"<{class_name(cls)} whose __repr__ raised {failure}>"


def _cut(value: UserValue) -> str:
    """Stand for a value that would lead deeper than is shown, or back into itself."""
    for kind, text in ((dict, "{...}"), (list, "[...]"), (tuple, "(...)"), (set, "{...}")):
        if is_a(value, kind):
            return text
    return f"{class_name(type(value))}(...)"


Writer = Callable[[Pen, Any, int, bool], str]
"""Writes one kind of value: (pen, value, room, exact) -> text."""
