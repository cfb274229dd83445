# compiled by njc 0.1.0 from feed_filtering/natural.njpy (sha256 9b79f8025336fa96, abi 1)
# do not edit: change feed_filtering/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Show of a feed only what the reader would like to see."""

import njrt as _nj


def filter_feed(feed: list[str], preference: str) -> list[str]:
    shown: list[str]
    try:
        _nj.run(
            """natural
    Choose from <feed>, in its order, the posts that a reader with this <preference> wants to see, and
    store them as a new list in <:shown: list[str]>.
    """,
            lambda: (feed, preference, shown),
            writes="shown",
            types=lambda: {"shown": list[str]},
            labels="return",
            at="feed_filtering/natural.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return shown


# njc lines 1=1 4:1 5=2 7:2 11=5 14:6 17=5 25:9 26=10 sha256 1a971248b80b1797
