"""The rationale of a reply: what stands before the first piece of code.

    The loop stops one item early.        "The loop stops one item early."
    ```python def total(...): ... ```

Not detected: code without a fence, and a rationale after the code.
"""

from __future__ import annotations

import re

MAX_RATIONALE_CHARS = 4000
_FENCE = "```"
_HEADING = re.compile(r"^[#*\s]*rationale[:*\s]*", re.IGNORECASE)
_LEAD_IN = re.compile(r"(?:^|\n+)[^\n]*:[*\s]*$")


def read_rationale(text: str) -> str:
    """Return the bounded text before the first code, without a heading (`Rationale:`) or a lead-in.

    A lead-in is a last line that ends with a colon, such as `Here is the corrected program:`.
    """
    before = text.partition(_FENCE)[0].strip()
    if _FENCE in text:
        before = _LEAD_IN.sub("", before)
    return _HEADING.sub("", before)[:MAX_RATIONALE_CHARS].strip()
