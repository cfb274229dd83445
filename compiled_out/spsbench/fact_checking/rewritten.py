# compiled by njc 0.3.0 from fact_checking/rewritten.njpy (sha256 8184d96d5adc8623, abi 1)
# do not edit: change fact_checking/rewritten.njpy and build again
# pyright: reportUnboundVariable=false
"""Check the facts of a text, and add what is found to a list that others read too."""

import njrt as _nj
from typing import TypedDict


class FactCheck(TypedDict):
    claim: str
    is_true: bool


def check_facts(text: str, results: list[FactCheck]) -> None:
    claims: list[str]
    _nj.run(
        """natural
    Gather the factual claims of the <text>, in its order and each as a sentence of its own, in
    <:claims: list[str]>. Opinions are no claims.
    """,
        lambda: (text, claims),
        writes="claims",
        types=lambda: {"claims": list[str]},
        at="fact_checking/rewritten.njpy:12",
        effects="answer",
    )
    for claim in claims:
        is_true: bool
        _nj.run(
            """natural
        Decide whether this <claim> is true, and say so in <:is_true: bool>.
        """,
            lambda: (claim, is_true),
            writes="is_true",
            types=lambda: {"is_true": bool},
            at="fact_checking/rewritten.njpy:17",
            effects="answer",
        )
        results.append({"claim": claim, "is_true": is_true})


# njc lines 1=1 4:1 6=3 7:3 17=12 19:13 22=12 28:16 30=17 32:18 34=17 40:20 41=21 sha256 b31ccb9036ec5c32
