# compiled by njc 0.1.0 from balance_parentheses/natural.njpy (sha256 674541fde969de97, options cc2447ed8334793a, code edd28c6c2a300b8a, abi 1)
# do not edit: change balance_parentheses/natural.njpy and build again
"""Put back parentheses that somebody lost, where the meaning wants them."""

import njrt as _nj


def balance(expression: str, context: str) -> str:
    # natural
    # Some parentheses of <expression> were lost. Put back what is missing, where it makes sense in
    # this <context>, change nothing else, and store the result in <:balanced: str>.
    balanced: str
    llm = _nj.llm_at("balance_parentheses/natural.njpy:5")
    balanced = llm(f"Balance the expression {expression} in the context {context}", str)
    # end of natural block
    return balanced


# njc lines 1=1 3:1 4=2 6:2 10=5 16:9 17=10 sha256 af81cacab018da28
