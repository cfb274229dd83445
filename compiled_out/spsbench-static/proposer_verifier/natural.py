# compiled by njc 0.1.0 from proposer_verifier/natural.njpy (sha256 3d8ca14fc3177c3c, options cc2447ed8334793a, code c4c7e9a78bb49737, abi 1)
# do not edit: change proposer_verifier/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 2 checks of its program (answered by a script)
"""Solve riddles in two steps, again and again: one prompt proposes, another one verifies."""

import njrt as _nj


def solve(riddle: str, attempts: int = 4) -> str | None:
    rejected: list[str] = []
    for _ in range(attempts):
        # natural
        # Propose one word in lower case as the <:answer: str> to the <riddle>, none of the <rejected>.
        answer: str
        llm = _nj.llm_at("proposer_verifier/natural.njpy:7")
        answer = llm(
            f"Propose one word in lower case as the answer to the riddle.\n\n{riddle}",
            str,
        )
        # end of natural block
        # natural
        # Go through the <riddle> line by line: <:fits: bool> says whether the <answer> fits every one of them.
        fits: bool
        llm = _nj.llm_at("proposer_verifier/natural.njpy:10")
        fits = fits or llm(f"Is this word a proper noun?\n\n{riddle}", bool)
        # end of natural block
        if fits:
            return answer
        rejected.append(answer)
    return None


# njc lines 1=1 4:1 5=2 7:2 13=7 21:10 22=10 27:13 31=17 sha256 fe6a0b4d1bb7e8bb
