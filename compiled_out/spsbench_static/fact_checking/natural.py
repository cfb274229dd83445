# compiled by njc 0.3.0 from fact_checking/natural.njpy (sha256 e1a2b39048f1842f, options cc2447ed8334793a, code a8fbb835447d252f, abi 1)
# do not edit: change fact_checking/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Check the facts of a text, and add what is found to a list that others read too."""

import njrt as _nj
from typing import TypedDict


class FactCheck(TypedDict):
    claim: str
    is_true: bool


def check_facts(text: str, results: list[FactCheck]) -> None:
    # natural
    # Gather the factual claims of the <text>, in its order and each as a sentence of its own, in
    # <:claims: list[str]>. Opinions are no claims.
    claims: list[str]
    llm = _nj.llm_at("fact_checking/natural.njpy:12")
    claims = llm(f"Extract all factual claims from this text.\n\n{text}", list[str])
    _nj.check_type("fact_checking/natural.njpy:12", "claims", claims, lambda: list[str])
    # end of natural block
    for claim in claims:
        # natural
        # Append a <FactCheck> of this <claim> to <results>.
        results.append(FactCheck(claim, True))
        # end of natural block


# njc lines 1=1 4:1 6=3 7:3 17=12 24:16 26=17 29=20 sha256 66e6955f0573902e
