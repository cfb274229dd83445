# compiled by njc 0.3.0 from proposer_verifier/natural.njpy (sha256 d7ab92fc441a1c49, options cc2447ed8334793a, code d83c6d892a3f8a37, abi 1)
# do not edit: change proposer_verifier/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
# pyright: reportUnboundVariable=false
"""Solve riddles in two steps, again and again: one prompt proposes, another one verifies."""

import njrt as _nj


def solve(riddle: str, attempts: int = 4) -> str | None:
    rejected: list[str] = []
    for _ in range(attempts):
        # natural
        # Propose one word in lower case as the <:answer: str> to the <riddle>, none of the <rejected>.
        answer: str
        llm = _nj.llm_at("proposer_verifier/natural.njpy:7", effects="answer")
        answer = llm(f"Please provide a word that fits the riddle.\n\n{riddle}", str)
        _nj.check_type(
            "proposer_verifier/natural.njpy:7",
            "answer",
            answer,
            lambda: str,
        )
        # end of natural block
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


# njc lines 1=1 5:1 6=2 8:2 14=7 25:10 26=10 28:11 30=10 36:13 40=17 sha256 6f81bb4d8bdfeb59
