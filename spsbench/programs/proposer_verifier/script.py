"""What a perfect model says for proposer_verifier, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def tried(*answers: str) -> CaseScript:
    """All answers but the last one are rejected."""
    *wrong, right = answers
    verdicts = [(answer, False) for answer in wrong] + [(right, True)]
    return CaseScript(
        tuple(said for verdict in verdicts for said in verdict),
        tuple(
            code for answer, fits in verdicts for code in (f"answer = {answer!r}", f"fits = {fits}")
        ),
    )


SCRIPT = Script(
    {"candle": tried("pencil", "candle"), "echo": tried("echo")},
    Mistake("candle", tried("pencil"), fails=("the answer is candle",)),
)
