"""What a perfect model says for sentiment, and a slip."""

from spsbench.script import Lines, Script, Slip


def felt(sentiment: str) -> Lines:
    return Lines((sentiment,), (f"sentiment = {sentiment!r}",))


SCRIPT = Script(
    {
        "joy": felt("positive"),
        "complaint": felt("negative"),
        "fact": felt("neutral"),
        "irony": felt("negative"),
    },
    Slip("irony", felt("positive"), fails=("it is negative",)),
)
