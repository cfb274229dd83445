r"""Problems in the format of GSM8K: a question, and an answer whose last line is `#### 42`.

{"question": "Ida has 3 boxes of 8 eggs. How many eggs has she?", "answer": "3 * 8 = 24\n#### 24"}

parse_problems(lines)      Problem(1, "Ida has ...", 24.0), ...
read_sample_problems()     the lines of the 20 problems that come with the benchmark
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files


class ProblemError(ValueError):
    """A line of a file of problems cannot be read; names the line."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, numbered by its line."""

    number: int
    question: str
    answer: float

    def is_solved_by(self, found: object) -> bool:
        """Return whether a value is the answer, up to the rounding of floats."""
        return (
            isinstance(found, int | float)
            and math.isfinite(found)
            and math.isclose(found, self.answer, rel_tol=1e-9, abs_tol=1e-6)
        )


def parse_problems(lines: Iterable[str]) -> Iterator[Problem]:
    """Read a file of problems; `ProblemError` names a line that cannot be read."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            written = json.loads(line)
            final = written["answer"].rpartition("####")[2].strip()
            yield Problem(number, written["question"], float(final.replace(",", "").lstrip("$")))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ProblemError(
                f"line {number} is not a problem: a JSON object with a question and an answer that ends "
                f"in `#### 42` ({type(error).__name__}: {error})"
            ) from None


def read_sample_problems() -> list[str]:
    """Return the problems that come with the benchmark, one a line."""
    text = files("spsbench.studies").joinpath("gsm8k_sample.jsonl").read_text("utf-8")
    return text.splitlines(keepends=True)
