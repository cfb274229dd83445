"""The open `with` statements of njrt around a context (see `njrt.context`).

This is a separate module so that `import njrt` can load it: the context of that import is then known to be outside
every `with`, as are the tasks that inherit from it.
"""

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Origin = Literal["inherited", "thread", "unknown"]


class Carried:
    """The items that are open around a context, outermost first, and their origin.

    `inherited`: from the context that started the work; there are no others. `thread`: from the context that started
    its thread. `unknown`: nothing is known about the origin of its work.
    Code of a model may get a context and read the variables in it; the guard does not let it read these
    attributes, which are of the runtime and start with `_`.
    """

    __slots__ = ("_items", "_origin")

    def __init__(self, items: "tuple[Any, ...]", origin: "Origin") -> None:
        self._items, self._origin = items, origin


UNKNOWN = Carried((), "unknown")
OUTSIDE = Carried((), "inherited")

carried: "ContextVar[Carried]" = ContextVar("njrt", default=UNKNOWN)
carried.set(OUTSIDE)
