"""The functions and methods of Python that only compute, for the asserts around blocks.

len(plan) > 2            computes
names.get("a")           computes
names.pop("a")           does more
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import re
import statistics
import uuid
from collections import Counter, OrderedDict, deque
from contextlib import suppress
from typing import Any

_IMMUTABLE = (
    *(str, bytes, int, float, complex, bool, tuple, frozenset, range, type(None)),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
    *(decimal.Decimal, fractions.Fraction, uuid.UUID, re.Match, re.Pattern),
)
_MUTABLE = (list, dict, set, deque, Counter, OrderedDict)
_COMPUTING: frozenset[Any] = frozenset(
    [
        *(abs, all, any, ascii, bin, callable, chr, divmod, enumerate, filter, format, getattr),
        *(hasattr, hash, hex, isinstance, issubclass, len, map, max, min, oct, ord, pow, repr),
        *(reversed, round, sorted, sum, type, zip, slice, list, dict, set, *_IMMUTABLE[:-2]),
        *(it for module in (math, statistics) for it in vars(module).values() if callable(it)),
        *(re.match, re.search, re.fullmatch, re.findall),
    ]
)
"""Functions that change nothing, whatever their arguments."""
METHOD_NAMES = frozenset(name for kind in (*_IMMUTABLE, *_MUTABLE) for name in dir(kind))
"""Methods of Python's own types."""
READING_METHODS = {
    *("copy", "count", "difference", "get", "index", "intersection", "isdisjoint", "issubset"),
    *("issuperset", "items", "keys", "most_common", "symmetric_difference", "total", "union"),
    *("values", *(it for kind in _IMMUTABLE for it in dir(kind) if not it.startswith("_"))),
}
"""Methods that change nothing."""


def is_computing(function: Any) -> bool:
    """Return whether a function only computes, whatever its arguments."""
    with suppress(TypeError):  # it has no hash
        return function in _COMPUTING
    return False
