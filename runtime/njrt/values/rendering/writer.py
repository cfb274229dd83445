"""Write a value on one line: limits on room and nesting, cycles, failures.

    writer.write_brief(value, 40)      at most 40 characters, shortened if necessary
    writer.write_whole(value, 40)      all of the value in at most 40 characters, or None

`one_line.py` has a function for each kind of value; a writer is given the function that looks them
up. A value that cannot fit is not written at all, so the work depends on the room, never on the
size of the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any

from njrt.data.outcome import UserValue
from njrt.data.timeouts import Allowance, DeadlineExceeded
from njrt.values.introspection import VALUE_CLASSES, get_class_name, get_module_name, identify, is_a
from njrt.values.rendering.redaction import ADDRESS_NAME, Redactor, classify_name

REPR_SECONDS, TOTAL_REPR_SECONDS = 0.2, 1.0
"""The time limit of one `__repr__` of the program, and of all that one text needs."""
MIN_SHOWN_ITEMS, MAX_SHOWN_ITEMS = 3, 8
"""Items shown of a collection that does not fit: a few, shortened if needed, and more if short."""
ATOMIC_TYPES = frozenset({type(None), type(...), bool, int, float, complex, str, bytes})
"""Classes with instances that hold no other objects."""
MAX_DEPTH_WHOLE, MAX_DEPTH_BRIEF = 8, 4
"""Levels of nesting shown for a value that fits, and for one that does not."""

_UNSTABLE_TEXT = re.compile(
    r" at 0x[0-9A-Fa-f]+| owner=\d+(?= count)| id='\d+'|(?<=started) \d+(?=\)>)|(?<=daemon)"
    r" \d+(?=\)>)"
)
_LITERAL = r"(?:'[^'\\{}]*'|-?[0-9][\w.]*)"
_SET_DISPLAY = re.compile(rf"\{{{_LITERAL}(?:, {_LITERAL})+\}}")


class DoesNotFit(Exception):
    """The value does not fit as a whole."""


def escape_unprintable(text: str) -> str:
    """Escape control characters, lone surrogates and the like for any terminal or encoder."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def clip(text: str, room: int) -> str:
    """Cut a text to `room` characters; a cut text ends with three dots."""
    return text if len(text) <= room else text[: max(0, room - 3)] + "..."


def remove_unstable_parts(text: str) -> str:
    """Remove the parts of a repr that vary between processes: addresses, identities, set order."""
    text = _UNSTABLE_TEXT.sub("", text)
    return _SET_DISPLAY.sub(
        lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}", text
    )


class ValueWriter:
    """Writes a value with all its parts (state: outer objects, classes with a slow `__repr__`)."""

    is_whole = False
    """Whether nothing is shortened, however long."""
    max_depth = MAX_DEPTH_WHOLE

    def __init__(
        self, find_function: Callable[[type], WriteFunction], redactor: Redactor | None = None
    ) -> None:
        self._find_function = find_function
        self.redactor = redactor or Redactor()
        self._functions: dict[int | type, WriteFunction] = {}
        self._path: list[int] = []
        self._too_long: dict[int, tuple[int, UserValue]] = {}
        self._hung: set[int] = set()
        self._allowance = Allowance(TOTAL_REPR_SECONDS)

    def write_brief(self, value: UserValue, room: int) -> str:
        """Write `value` in at most `room` characters, shortened if necessary."""
        text = self.write_whole(value, room)
        return clip(self._write(value, room, False), room) if text is None else text

    def write_whole(self, value: UserValue, room: int) -> str | None:
        """Write all of `value` in at most `room` characters, or return None."""
        try:
            text = self._write(value, room, True)
        except DoesNotFit:
            return None
        return text if len(text) <= room else None

    def _write(self, value: UserValue, room: int, exact: bool) -> str:
        """Write `value`; with `exact` all of it, or raise `DoesNotFit`."""
        cls = type(value)
        is_plain = type(cls) is type  # so that comparing it runs none of the program's code
        key = cls if is_plain else identify(cls)
        write = self._functions.get(key)
        if write is None:
            write = self._functions[key] = self._find_function(cls)
        if is_plain and cls in ATOMIC_TYPES:
            return write(self, value, room, exact)
        if (identity := identify(value)) in self._path:
            return _abbreviate(value)
        if len(self._path) >= (self.max_depth if exact else MAX_DEPTH_BRIEF):
            if exact:
                raise DoesNotFit
            return _abbreviate(value)
        # What did not fit is not retried in less room: each level would retry all levels below it.
        if exact and self._too_long.get(identity, (-1,))[0] >= room:
            raise DoesNotFit
        self._path.append(identity)
        try:
            return write(self, value, room, exact)
        except DoesNotFit:
            self._too_long[identity] = room, value
            raise
        except KeyboardInterrupt:
            raise
        except Exception as error:
            # Another thread may have changed the value in the meantime.
            return f"<{get_class_name(cls)} that cannot be shown: {get_class_name(type(error))}>"
        finally:
            self._path.pop()

    def write_named(self, name: str, value: UserValue, room: int) -> str:
        """Write a named value in at most `room` characters, redacted if it is a secret."""
        return self.redactor.write_named(name, value, lambda: self.write_brief(value, room))

    def write_part(self, value: UserValue, room: int, exact: bool) -> str:
        """Write a part of the value: all if `exact` (or raise `DoesNotFit`), else shortened."""
        return self._write(value, room, True) if exact else self.write_brief(value, room)

    def write_row(
        self,
        opening: str,
        parts: Iterable[tuple[str, UserValue]],
        length: int,
        closing: str,
        room: int,
        exact: bool,
    ) -> str:
        """Write `opening part, part, ... closing`, each part after its label, if they fit."""
        left = room - len(opening) - len(closing)
        if exact and 3 * length - 2 > left:
            raise DoesNotFit
        written: list[str] = []
        for label, value in parts:
            count = len(written)
            if count >= MAX_SHOWN_ITEMS and not exact:
                break
            share = left - len(label)
            if not exact and length > 1:
                share = min(share, max(24, share // 3))
            if label and (classify_name(label) or ADDRESS_NAME in label):
                write = partial(self._write_item, value, share, exact, count)
                part = self.redactor.write_named(label, value, write)
            elif exact:
                part = self._write(value, share, True)
            else:
                part = self._write_item(value, share, exact, count)
            if part is None:
                break
            left -= len(label) + len(part)
            # An abbreviated row must keep room for the ", ..." that ends it.
            if left < (0 if exact or count + 1 == length else 5):
                if exact:
                    raise DoesNotFit
                break
            written.append(label + part)
            left -= 2
        if len(written) < length:
            written.append("...")
        return opening + ", ".join(written) + closing

    def _write_item(self, value: UserValue, room: int, exact: bool, count: int) -> str | None:
        """Write a row's part after `count` others; in an abbreviated row, later ones must fit."""
        if exact:
            return self._write(value, room, True)
        return (self.write_brief if count < MIN_SHOWN_ITEMS else self.write_whole)(value, room)

    def label_values(
        self, pairs: Iterable[tuple[UserValue, UserValue]], room: int, exact: bool
    ) -> Iterator[tuple[str, UserValue]]:
        """Write the keys of a dict as labels of its values."""
        for key, value in pairs:
            yield self.write_part(key, room if exact else max(16, room // 3), exact) + ": ", value

    def write_repr(self, value: UserValue, room: int) -> str:
        """Write the result of the value's `__repr__`, or how it failed."""
        cls = type(value)
        is_value = get_class_name(cls) in VALUE_CLASSES.get(get_module_name(cls), ())
        if refuses_code.get() and not is_value:
            raise DoesNotFit
        if identify(cls) in self._hung or self._allowance.left <= 0:
            return f"<{get_class_name(cls)}>"
        try:
            text = self._allowance.call(REPR_SECONDS, lambda: repr(value))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._describe_repr_failure(cls, error)
        text = self.redactor.redact(clip(str.__str__(text), 4 * room))
        return escape_unprintable(remove_unstable_parts(text))

    def _describe_repr_failure(self, cls: type, error: BaseException) -> str:
        if type(error) is DeadlineExceeded:
            self._hung.add(identify(cls))
            return f"<{get_class_name(cls)} whose __repr__ took longer than {REPR_SECONDS:g} s>"
        message = error.args[0] if error.args and type(error.args[0]) is str else ""
        failure = get_class_name(type(error)) + (
            f": {escape_unprintable(self.redactor.redact(message[:80]))}" if message else ""
        )
        return f"<{get_class_name(cls)} whose __repr__ raised {failure}>"


refuses_code = ContextVar("njrt.values.rendering.writer", default=False)
"""Whether `DoesNotFit` is raised where a `__repr__` or property of the program would be called."""


def _abbreviate(value: UserValue) -> str:
    for kind, text in ((dict, "{...}"), (list, "[...]"), (tuple, "(...)"), (set, "{...}")):
        if is_a(value, kind):
            return text
    return f"{get_class_name(type(value))}(...)"


WriteFunction = Callable[[ValueWriter, Any, int, bool], str]
"""Writes one kind of value: (writer, value, room, exact) -> text."""
