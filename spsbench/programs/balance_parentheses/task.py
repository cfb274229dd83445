"""An arithmetic expression with a known result, and a regular expression with known matches."""

import re

from spsbench.task import Case, Check, Task

TASK = Task(
    "balance_parentheses",
    (
        Case(
            "arithmetic",
            lambda program: program.balance("(2 + 3 * 4", "arithmetic; the result must be 20"),
            (
                Check(
                    "the sum is what the parentheses enclose",
                    lambda balanced: balanced.replace(" ", "") == "(2+3)*4",
                ),
            ),
        ),
        Case(
            "regex",
            lambda program: program.balance(
                "colo(u?r|ur)(s|ed",
                "a regular expression that matches colors and coloured, not color",
            ),
            (
                Check(
                    "the pattern matches what the context says",
                    lambda balanced: (
                        [
                            bool(re.fullmatch(balanced, word))
                            for word in ("colors", "coloured", "color")
                        ]
                        == [True, True, False]
                    ),
                ),
            ),
        ),
    ),
)
