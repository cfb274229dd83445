"""What a perfect model says for balance_parentheses, and a slip."""

from spsbench.script import CaseScript, Mistake, Script

SCRIPT = Script(
    {
        "arithmetic": CaseScript(("(2 + 3) * 4",), ('balanced = "(2 + 3) * 4"',)),
        "regex": CaseScript(("colo(u?r|ur)(s|ed)",), ('balanced = expression + ")"',)),
    },
    Mistake(
        "arithmetic",
        CaseScript(("(2 + 3 * 4)",), ('balanced = expression + ")"',)),
        fails=("the sum is what the parentheses enclose",),
    ),
)
