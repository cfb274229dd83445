# compiled by njc 0.1.0 from feed_filtering/natural.njpy (sha256 9b79f8025336fa96, abi 1)
# do not edit: change feed_filtering/natural.njpy and build again
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


# njc lines 1=1 3:1 4=2 6:2 10=5 13:6 16=5 24:9 25=10 sha256 7f4b2f102b3dd483
