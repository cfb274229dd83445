# compiled by njc 0.3.0 from fact_checking/natural.njpy (sha256 e1a2b39048f1842f, abi 1)
# do not edit: change fact_checking/natural.njpy and build again
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
        at="fact_checking/natural.njpy:12",
        effects="answer",
    )
    for claim in claims:
        _nj.run(
            """natural
        Append a <FactCheck> of this <claim> to <results>.
        """,
            lambda: (FactCheck, claim, results),
            at="fact_checking/natural.njpy:17",
        )


# njc lines 1=1 4:1 6=3 7:3 17=12 19:13 22=12 28:16 30=17 31:18 33=17 36=20 sha256 022c956fc307a002
