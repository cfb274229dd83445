"""What a perfect model says for proposer_verifier, and a slip."""

from spsbench.script import Lines, Script, Slip


def tried(*answers: str) -> Lines:
    """All answers but the last one are rejected."""
    *wrong, right = answers
    verdicts = [(answer, False) for answer in wrong] + [(right, True)]
    return Lines(
        tuple(said for verdict in verdicts for said in verdict),
        tuple(
            code for answer, fits in verdicts for code in (f"answer = {answer!r}", f"fits = {fits}")
        ),
    )


SCRIPT = Script(
    {"candle": tried("pencil", "candle"), "echo": tried("echo")},
    Slip("candle", tried("pencil"), fails=("the answer is candle",)),
)
