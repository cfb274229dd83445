"""Numbers that may be options, limits and budgets: those that every clock and counter can hold.

is_limit(10**400, float)        False: adding it to a clock would overflow
describe_number(10**400)        "a number beyond 1,000,000,000"
"""

from __future__ import annotations

import math
from typing import Any

MOST = 10**9
"""The largest finite number of an option."""


def is_limit(value: Any, kind: type, most: int = MOST) -> bool:
    """Return whether a value is a whole number to `most`; for float, any number or infinity."""
    if type(value) is not int and (kind is int or not isinstance(value, float)):
        return False
    return 0 <= value <= most or (kind is float and value == math.inf)


def describe_number(value: Any, most: int = MOST) -> str:
    """Return a value for a message; a number of thousands of digits has no `repr`."""
    if isinstance(value, int) and abs(value) > most:
        return f"a number beyond {most:,}"
    return repr(value)
