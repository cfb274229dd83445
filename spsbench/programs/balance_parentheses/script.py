"""What a perfect model says for balance_parentheses, and a slip."""

from spsbench.script import Lines, Script, Slip

SCRIPT = Script(
    {
        "arithmetic": Lines(("(2 + 3) * 4",), ('balanced = "(2 + 3) * 4"',)),
        "regex": Lines(("colo(u?r|ur)(s|ed)",), ('balanced = expression + ")"',)),
    },
    Slip(
        "arithmetic",
        Lines(("(2 + 3 * 4)",), ('balanced = expression + ")"',)),
        fails=("the sum is what the parentheses enclose",),
    ),
)
