"""A joy, a complaint, a fact, and some irony."""

from spsbench.task import Case, Check, Task


def text(name: str, words: str, expected: str) -> Case:
    return Case(
        name,
        lambda program: program.sentiment_of(words),
        (Check(f"it is {expected}", lambda sentiment: sentiment == expected),),
    )


TASK = Task(
    "sentiment",
    (
        text("joy", "Best concert of my life, I could have danced till morning!", "positive"),
        text("complaint", "The soup was cold and the waiter rude.", "negative"),
        text("fact", "The museum closes at 6 pm on Tuesdays.", "neutral"),
        text("irony", "Great, the train is cancelled again. Just what I needed.", "negative"),
    ),
)
