# compiled by njc 0.3.0 from feed_filtering/natural.njpy (sha256 5c80fb839cd195e3, abi 1)
# do not edit: change feed_filtering/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Show of a feed only what the reader would like to see."""

import njrt as _nj
from collections.abc import Sequence


def filter_feed(feed: Sequence[str], preference: str) -> list[str]:
    shown: list[str]
    _nj.run(
        """natural
    Choose from <feed>, in its order, the posts that a reader with this <preference> wants to see, and
    store them as a new list in <:shown: list[str]>.
    """,
        lambda: (feed, preference, shown),
        writes="shown",
        types=lambda: {"shown": list[str]},
        at="feed_filtering/natural.njpy:7",
        effects="answer",
    )
    return shown


# njc lines 1=1 4:1 6=3 7:3 12=7 14:8 17=7 23:11 24=12 sha256 4f9f38bf7b6ce70f
