"""What a context carries: the open `with` statements of njrt around it (see `njrt.context`).

It is apart from them because `import njrt` loads it: the context of that import is thereby known to be outside of
every `with`, and so are the tasks that inherit from it.
"""

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Origin = Literal["inherited", "thread", "unknown"]


class Carried:
    """The items that are open around a context, outermost first, and how it came to know them.

    `inherited`: from the context in which the work was started; there are no others. `thread`: from the context in
    which its thread was started. `unknown`: nothing is known about where its work comes from.

    Code of a model may come by a context, of which it can read the variables; the guard does not let it read these
    attributes, which are of the runtime and begin with `_`.
    """

    __slots__ = ("_items", "_origin")

    def __init__(self, items: "tuple[Any, ...]", origin: "Origin") -> None:
        self._items, self._origin = items, origin


UNKNOWN = Carried((), "unknown")
OUTSIDE = Carried((), "inherited")

carried: "ContextVar[Carried]" = ContextVar("njrt", default=UNKNOWN)
carried.set(OUTSIDE)
