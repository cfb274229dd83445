# compiled by njc 0.1.0 from proposer_verifier/natural.njpy (sha256 3d8ca14fc3177c3c, abi 1)
# do not edit: change proposer_verifier/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Solve riddles in two steps, again and again: one prompt proposes, another one verifies."""

import njrt as _nj


def solve(riddle: str, attempts: int = 4) -> str | None:
    rejected: list[str] = []
    for _ in range(attempts):
        answer: str
        try:
            _nj.run(
                """natural
        Propose one word in lower case as the <:answer: str> to the <riddle>, none of the <rejected>.
        """,
                lambda: (answer, riddle, rejected),
                writes="answer",
                types=lambda: {"answer": str},
                labels="break continue return",
                at="proposer_verifier/natural.njpy:7",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        fits: bool
        try:
            _nj.run(
                """natural
        Go through the <riddle> line by line: <:fits: bool> says whether the <answer> fits every one of them.
        """,
                lambda: (riddle, fits, answer),
                writes="fits",
                types=lambda: {"fits": bool},
                labels="break continue return",
                at="proposer_verifier/natural.njpy:10",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
        if fits:
            return answer
        rejected.append(answer)
    return None


# njc lines 1=1 4:1 5=2 7:2 13=7 16:8 18=7 30:10 31=10 34:11 36=10 48:13 52=17 sha256 c8e264bcad780f6e
