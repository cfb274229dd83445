# compiled by njc 0.2.0 from fact_checking/natural.njpy (sha256 8184d96d5adc8623, options cc2447ed8334793a, code 70ca756cf7f10519, abi 1)
# do not edit: change fact_checking/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 6 checks of its program (answered by a script); 1 of 2 blocks run live
# pyright: reportUnboundVariable=false
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
    # end of natural block
    for claim in claims:
        is_true: bool
        _nj.run(
            """natural
        Decide whether this <claim> is true, and say so in <:is_true: bool>.
        """,
            lambda: (claim, is_true),
            writes="is_true",
            types=lambda: {"is_true": bool},
            at="fact_checking/natural.njpy:17",
            effects="answer",
        )
        results.append({"claim": claim, "is_true": is_true})


# njc lines 1=1 5:1 7=3 8:3 18=12 24:16 26=17 28:18 30=17 36:20 37=21 sha256 b6b16438a3dbb8bd
