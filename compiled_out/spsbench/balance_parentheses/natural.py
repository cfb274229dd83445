# compiled by njc 0.1.0 from balance_parentheses/natural.njpy (sha256 674541fde969de97, abi 1)
# do not edit: change balance_parentheses/natural.njpy and build again
"""Put back parentheses that somebody lost, where the meaning wants them."""

import njrt as _nj


def balance(expression: str, context: str) -> str:
    balanced: str
    try:
        _nj.run(
            """natural
    Some parentheses of <expression> were lost. Put back what is missing, where it makes sense in
    this <context>, change nothing else, and store the result in <:balanced: str>.
    """,
            lambda: (expression, context, balanced),
            writes="balanced",
            types=lambda: {"balanced": str},
            labels="return",
            at="balance_parentheses/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return balanced


# njc lines 1=1 3:1 4=2 6:2 10=5 13:6 16=5 24:9 25=10 sha256 5b4a86a4f6f25bc6
