# compiled by njc 0.3.0 from feed_filtering/natural.njpy (sha256 5c80fb839cd195e3, options cc2447ed8334793a, code 8bbd20f87598a933, abi 1)
# do not edit: change feed_filtering/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local)
"""Show of a feed only what the reader would like to see."""

import njrt as _nj
from collections.abc import Sequence


def filter_feed(feed: Sequence[str], preference: str) -> list[str]:
    # natural
    # Choose from <feed>, in its order, the posts that a reader with this <preference> wants to see, and
    # store them as a new list in <:shown: list[str]>.
    shown: list[str]
    llm = _nj.llm_at("feed_filtering/natural.njpy:7")
    shown = llm(
        f"Filter the feed for posts that the reader with the preference '{preference}' wants to see.\n\n{feed}",
        list[str],
    )
    _nj.check_type("feed_filtering/natural.njpy:7", "shown", shown, lambda: list[str])
    # end of natural block
    return shown


# njc lines 1=1 4:1 6=3 7:3 12=7 22:11 23=12 sha256 7f2b50c1d5b7edb9
