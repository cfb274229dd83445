"""One feed and three readers."""

from types import ModuleType

from spsbench.task import Case, Check, Task

FEED = (
    "Our cat has learned to open the fridge.",
    "Parliament votes on the budget tonight.",
    "Late goal: the home team wins 2 to 1.",
    "A puppy was born at the fire station, meet Sparky!",
    "Prime minister resigns after a week of protests.",
    "Marathon record broken by eleven seconds.",
)


def reader(name: str, preference: str, wanted: set[int]) -> Case:
    def play(program: ModuleType) -> tuple[list[str], list[str]]:
        feed = list(FEED)
        return program.filter_feed(feed, preference), feed

    kept = [post for number, post in enumerate(FEED) if number in wanted]
    left_out = [post for post in FEED if post not in kept]
    return Case(
        name,
        play,
        (
            Check("what is wanted is shown", lambda seen: set(kept) <= set(seen[0])),
            Check("nothing else is shown", lambda seen: not set(left_out) & set(seen[0])),
            Check(
                "the order is the feed's",
                lambda seen: (
                    seen[0] == [post for post in FEED if post in seen[0]] and seen[0] != []
                ),
            ),
            Check(
                "the feed itself is left alone",
                lambda seen: seen[1] == list(FEED) and seen[0] is not seen[1],
                is_operation=True,
            ),
        ),
    )


TASK = Task(
    "feed_filtering",
    (
        reader("animals", "Only pets, I can't get enough of them.", {0, 3}),
        reader("no politics", "Anything but politics.", {0, 2, 3, 5}),
        reader("sports", "I just follow sports.", {2, 5}),
    ),
)
