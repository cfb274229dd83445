"""The mark of the context that imported njrt, and of those made from it (see `njrt.context`).

This is a separate module so that `import njrt`, which loads little, can load it.
"""

from contextvars import ContextVar

is_known = ContextVar("njrt.root_context", default=False)
is_known.set(True)
