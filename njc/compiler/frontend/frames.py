"""The meaning of break, continue and return at a point in a program.

    def f():
        for i in range(2):          a block here may raise, break, continue, return
            try: ...
            except* ValueError:     here only raise: no jump may leave an except* suite
                ...
            finally:                here all, but each would leave the finally suite (PEP 765)
                ...
        else:                       here raise and return: a loop's else is outside the loop

A `Frame` is the control context of a point; the `enter_...` methods return the frame of an inner
suite. Labels are always in the order of `Label`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from njc.compiler.frontend.name_resolution import NameScope
from njrt.data.records import record

Label = Literal["raise", "break", "continue", "return", "return_value"]


@record
class Frame:
    """The control context of a suite: the way to the loop and the way to the function's end."""

    scope: NameScope
    in_loop: bool = False
    loop_barred: bool = False
    """Whether an `except*` suite is between here and the loop."""
    return_barred: bool = False
    """Whether an `except*` suite is between here and the function."""
    loop_in_finally: bool = False
    """Whether a jump to the loop would leave a `finally` suite."""
    return_in_finally: bool = False
    """Whether a return would leave a `finally` suite."""
    group: str | None = None
    """The name of the group in the function's `except*` suite, "" if it has none, None elsewhere.

    Only bare `raise` re-raises the group.
    """

    def enter_loop(self) -> Frame:
        """Return the frame of a loop's body; its `else` suite keeps the outer frame."""
        return replace(self, in_loop=True, loop_barred=False, loop_in_finally=False)

    def enter_except_star(self, group: str) -> Frame:
        """Return the frame of an `except*` suite, with the name of its group."""
        return replace(self, loop_barred=True, return_barred=True, group=group)

    def enter_finally(self) -> Frame:
        """Return the frame of a `finally` suite."""
        return replace(self, loop_in_finally=True, return_in_finally=True)

    def list_labels(self) -> tuple[Label, ...]:
        """Return the control statements that Python would accept here."""
        labels: list[Label] = ["raise"]
        if self.in_loop and not self.loop_barred:
            labels += ["break", "continue"]
        if self.scope.is_function and not self.return_barred:
            labels += ["return"]
            if self.scope.kind != "async generator":
                labels += ["return_value"]
        return tuple(labels)

    def list_labels_exiting_finally(self) -> tuple[Label, ...]:
        """Return the labels that would leave a `finally` suite."""
        leaving = ["break", "continue"] if self.loop_in_finally else []
        leaving += ["return", "return_value"] if self.return_in_finally else []
        return tuple(label for label in self.list_labels() if label in leaving)
