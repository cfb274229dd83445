# compiled by njc 0.3.0 from proposer_verifier/natural.njpy (sha256 d7ab92fc441a1c49, abi 1)
# do not edit: change proposer_verifier/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Solve riddles in two steps, again and again: one prompt proposes, another one verifies."""

import njrt as _nj


def solve(riddle: str, attempts: int = 4) -> str | None:
    rejected: list[str] = []
    for _ in range(attempts):
        answer: str
        _nj.run(
            """natural(effects="answer")
        Propose one word in lower case as the <:answer: str> to the <riddle>, none of the <rejected>.
        """,
            lambda: (answer, riddle, rejected),
            writes="answer",
            types=lambda: {"answer": str},
            at="proposer_verifier/natural.njpy:7",
            effects="answer",
        )
        fits: bool
        _nj.run(
            """natural
        Go through the <riddle> line by line: <:fits: bool> says whether the <answer> fits every one of them.
        """,
            lambda: (riddle, fits, answer),
            writes="fits",
            types=lambda: {"fits": bool},
            at="proposer_verifier/natural.njpy:10",
            effects="answer",
        )
        if fits:
            return answer
        rejected.append(answer)
    return None


# njc lines 1=1 4:1 5=2 7:2 13=7 15:8 17=7 23:10 24=10 26:11 28=10 34:13 38=17 sha256 2ca4b4f99947e4c8
