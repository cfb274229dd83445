"""The mark of the context that imported njrt, and of those made from it (see `njrt.data.context`).

This is a separate module so that `import njrt`, which loads little, can load it.
"""

from contextvars import ContextVar

is_known = ContextVar("njrt.data.root_context", default=False)
is_known.set(True)
