# compiled by njc 0.1.0 from fact_checking/natural.njpy (sha256 e1a2b39048f1842f, abi 1)
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
    try:
        _nj.run(
            """natural
    Gather the factual claims of the <text>, in its order and each as a sentence of its own, in
    <:claims: list[str]>. Opinions are no claims.
    """,
            lambda: (text, claims),
            writes="claims",
            types=lambda: {"claims": list[str]},
            labels="return",
            at="fact_checking/natural.njpy:12",
        )
    except _nj.Return:
        return
    for claim in claims:
        try:
            _nj.run(
                """natural
        Append a <FactCheck> of this <claim> to <results>.
        """,
                lambda: (FactCheck, claim, results),
                labels="break continue return",
                at="fact_checking/natural.njpy:17",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return:
            return


# njc lines 1=1 4:1 6=3 7:3 17=12 20:13 23=12 31:16 33=17 35:18 37=17 47=20 sha256 9437bc85babbaf48
