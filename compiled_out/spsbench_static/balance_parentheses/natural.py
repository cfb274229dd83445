# compiled by njc 0.3.0 from balance_parentheses/natural.njpy (sha256 674541fde969de97, options cc2447ed8334793a, code 6771ae60145282d3, abi 1)
# do not edit: change balance_parentheses/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Put back parentheses that somebody lost, where the meaning wants them."""

import njrt as _nj


def balance(expression: str, context: str) -> str:
    # natural
    # Some parentheses of <expression> were lost. Put back what is missing, where it makes sense in
    # this <context>, change nothing else, and store the result in <:balanced: str>.
    balanced: str
    llm = _nj.llm_at("balance_parentheses/natural.njpy:5")
    balanced = llm(f"Balance the expression {expression} in the context {context}", str)
    _nj.check_type(
        "balance_parentheses/natural.njpy:5",
        "balanced",
        balanced,
        lambda: str,
    )
    # end of natural block
    return balanced


# njc lines 1=1 4:1 5=2 7:2 11=5 23:9 24=10 sha256 994415080bf04572
