"""What a perfect model says for sentiment, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def felt(sentiment: str) -> CaseScript:
    return CaseScript((sentiment,), (f"sentiment = {sentiment!r}",))


SCRIPT = Script(
    {
        "joy": felt("positive"),
        "complaint": felt("negative"),
        "fact": felt("neutral"),
        "irony": felt("negative"),
    },
    Mistake("irony", felt("positive"), fails=("it is negative",)),
)
