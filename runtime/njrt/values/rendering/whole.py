"""Write values whole, for a reader that sees nothing else of them, or give the reason why not.

    writer = WholeWriter(30_000, classes=(Item,))
    writer.write(items)         [#1 Item(name='apple', price=1.25), #2 Item(name='fries', ...)]
    writer.objects              both items: a reply may name their numbers
    writer.write(generator)     CannotShow("holds `<generator names>`, which does not show ...")

A text in angle brackets is Python's form for an object that it does not show. Not detected: state
that a class's own `__repr__` omits. Fields without `repr` are secrets; an object inside itself is
shown as `Node(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, EnumMeta

from njrt.data.outcome import UserValue
from njrt.values.introspection import identify, is_a, is_user_class
from njrt.values.rendering.one_line import find_write_function, write_by_repr
from njrt.values.rendering.redaction import Redactor
from njrt.values.rendering.writer import DoesNotFit, ValueWriter

MAX_DEPTH = 50
"""Levels of nesting in a value."""


TOO_LONG = "is too long"


class CannotShow(DoesNotFit):
    """No text shows all of a value; the argument is the reason, which follows the value's name."""


class WholeWriter(ValueWriter):
    """Writes values whole, in at most `room` characters each (state: the objects and enums so far).

    Instances of `classes` are numbered in the order of their first places. Values that
    `is_attached` accepts are files, which are sent beside the text.
    """

    is_whole = True
    max_depth = MAX_DEPTH

    def __init__(
        self,
        room: int,
        redactor: Redactor | None = None,
        classes: Sequence[type] = (),
        is_attached: Callable[[UserValue], bool] = lambda value: False,
    ) -> None:
        super().__init__(find_write_function, redactor)
        self.objects: list[UserValue] = []
        self.enums: dict[int, type[Enum]] = {}
        self._room = room
        self._classes = classes
        self._is_attached = is_attached
        self._numbers: dict[int, int] = {}

    def write(self, value: UserValue) -> str:
        """Write all of a value; raise `CannotShow` if that is not possible."""
        try:
            return self._write(value, self._room, True)
        except CannotShow:
            raise
        except DoesNotFit:
            raise CannotShow(TOO_LONG) from None

    def write_brief(self, value: UserValue, room: int) -> str:
        """Write all of a value, as nothing is shortened."""
        return self.write(value)

    def _write(self, value: UserValue, room: int, exact: bool) -> str:
        if len(self._path) >= MAX_DEPTH:
            raise CannotShow(f"is nested more than {MAX_DEPTH} levels deep")
        label = self._number(value) if self._classes else ""
        text = super()._write(value, room - len(label), exact)
        cls = type(value)
        if is_a(cls, EnumMeta):
            self.enums[identify(cls)] = cls
        is_opaque = text.startswith("<") and not is_a(value, type)
        if "..." in text and not is_user_class(cls):
            is_opaque = is_opaque or find_write_function(cls) is write_by_repr
        if is_opaque and not self._is_attached(value):
            raise CannotShow(f"holds `{text[:80]}`, which does not show its content")
        return label + text

    def _number(self, value: UserValue) -> str:
        """Return the label of a numbered object; an empty string for other values."""
        if not any(is_a(value, cls) for cls in self._classes):
            return ""
        identity = identify(value)
        if identity not in self._numbers:
            self.objects.append(value)
            self._numbers[identity] = len(self.objects)
        return f"#{self._numbers[identity]} "
