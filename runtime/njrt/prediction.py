"""What a model predicted of an effect, and where it was wrong.

    with njrt.using(predict="openai/gpt-4.1-mini"), njrt.watch() as watch:
        triage(mailbox)
    watch.totals.surprises                 effects after which the variables were not as predicted
    watch.runs[0].effects[0].prediction    Prediction(expected={"total": "7"}, mismatches=("total = 10, predicted 7",))

Before an effect is performed, the model is shown the instruction, the variables and the effect, and says what the
variables will be if the effect does what the instruction asks. A difference is a surprise: the effect, or the
prediction, is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of one effect, compared with what the effect did."""

    expected: Mapping[str, str] = field(default_factory=dict)
    """The variables that were to change, with their values as Python text."""
    ending: str = ""
    """How the effect was to end: `goes on`, `break`, `continue`, `return VALUE` or `raise NAME`."""
    mismatches: tuple[str, ...] = ()
    """Where the prediction was wrong, one text for each variable and for the ending."""
    problem: str = ""
    """Why nothing was compared, if so: the model gave no answer, the effect was refused."""
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    @property
    def is_surprise(self) -> bool:
        """Whether the prediction was wrong."""
        return bool(self.mismatches)
