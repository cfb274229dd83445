"""Repair prompts: the program, and the parts of its failure that the condition shows.

    ```python
    def total(prices):       # (1) prices = [3, 4]           the steps: condition `trace`
        spent = 0            # (2) spent = 0
    ```
    This test fails: assert total([3, 4]) == 7                          all conditions but `neither`

All conditions have the same system prompt, and end with the same task.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from njc.measure.execution_trace import ExecutionTrace
from njc.measure.repair.annotate import annotate_code
from spsbench.repair.results import Condition
from spsbench.repair.testing import FailedTests

SYSTEM_PROMPT = """\
You repair Python programs. The program that you are shown has a mistake. Reply with a rationale \
first: say in two to four sentences of plain text what the program should do, what it does \
instead, and why. Then reply with the whole corrected program in one ```python block, without \
docstrings and comments. Correct the mistake for all values, not only for those of a test."""

MAX_ANNOTATED_CHARS = 6000
_COMMENT_LIMITS = (300, 120, 60, 30)


def make_repair_prompt(condition: Condition, code: str, failure: FailedTests) -> str:
    """Return the question of a repair."""
    return "\n\n".join(_write_parts(condition, code, failure))


def _write_parts(condition: Condition, code: str, failure: FailedTests) -> Iterator[str]:
    is_traced = condition == "trace" and failure.trace.steps
    annotated = annotate_program(code, failure.trace) if is_traced else None
    if annotated:
        yield (
            "The comments in this program are the values after each step of the run that failed."
            " The numbers are those of the steps."
        )
    yield f"```python\n{(annotated or code).strip()}\n```"
    if condition == "neither":
        yield "A test of this program fails."
    elif failure.test:
        yield f"This test fails:\n\n```python\n{failure.test}\n```\n\n{failure.problem}"
    else:
        yield f"The program fails: {failure.problem}"
    yield "Write the rationale, then the whole corrected program."


def annotate_program(code: str, trace: ExecutionTrace) -> str | None:
    """Return the program with the steps as comments, shortened to fit, or None if not Python."""
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        return None
    texts = [annotate_code(code, trace, max_chars=limit) for limit in _COMMENT_LIMITS]
    return next((text for text in texts if len(text) <= MAX_ANNOTATED_CHARS), texts[-1])
