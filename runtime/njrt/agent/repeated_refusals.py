"""What the model reads when its code is refused again for the same reason.

1st    line 2: `prices` is only read here
2nd    again: line 2: ..., and the form of code that binds the outputs
3rd    refused 3 times: ..., and the advice to write other code
"""

from __future__ import annotations

import re
from collections import Counter

from njrt.effects import Refusal
from njrt.scope.advice import format_skeleton
from njrt.scope.scope import Scope

_LINE_PREFIX = re.compile(r"^line \d+: ")


class RepeatedRefusals:
    """Counts the refusals of a block by their reason."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.counts: Counter[str] = Counter()

    def vary(self, refusal: Refusal) -> Refusal:
        """Say the same thing with the form of the code the second time, and briefly from then on."""
        first = refusal.message.partition("\n")[0]
        reason = _LINE_PREFIX.sub("", first)
        self.counts[reason] += 1
        if (times := self.counts[reason]) == 1:
            return refusal
        if times == 2:
            scope = self.scope
            skeleton = format_skeleton(scope.outputs, scope.list_variables(), scope.types)
            form = f"\nWrite all of it anew, in this form:\n{skeleton}" if skeleton else ""
            return Refusal(f"again: {refusal.message}{form}", times=times)
        advice = "Do without it: write other, simpler code"
        return Refusal(f"refused {times} times: {reason}\n{advice}", times=times)
