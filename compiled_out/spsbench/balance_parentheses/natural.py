# compiled by njc 0.3.0 from balance_parentheses/natural.njpy (sha256 674541fde969de97, abi 1)
# do not edit: change balance_parentheses/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Put back parentheses that somebody lost, where the meaning wants them."""

import njrt as _nj


def balance(expression: str, context: str) -> str:
    balanced: str
    _nj.run(
        """natural
    Some parentheses of <expression> were lost. Put back what is missing, where it makes sense in
    this <context>, change nothing else, and store the result in <:balanced: str>.
    """,
        lambda: (expression, context, balanced),
        writes="balanced",
        types=lambda: {"balanced": str},
        at="balance_parentheses/natural.njpy:5",
        effects="answer",
    )
    return balanced


# njc lines 1=1 4:1 5=2 7:2 11=5 13:6 16=5 22:9 23=10 sha256 7d455ad00c6b2923
