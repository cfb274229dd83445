# compiled by njc 0.1.0 from feed_filtering/natural.njpy (sha256 9b79f8025336fa96, options cc2447ed8334793a, code b1599c14ba1433ba, abi 1)
# do not edit: change feed_filtering/natural.njpy and build again
# code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local); passes 0 of 12 checks of its program (answered by a script)
"""Show of a feed only what the reader would like to see."""

import njrt as _nj


def filter_feed(feed: list[str], preference: str) -> list[str]:
    # natural
    # Choose from <feed>, in its order, the posts that a reader with this <preference> wants to see, and
    # store them as a new list in <:shown: list[str]>.
    shown: list[str]
    llm = _nj.llm_at("feed_filtering/natural.njpy:5")
    shown = [
        post
        for post in feed
        if llm(f"Is this post for {preference}?\n\n{post}", list[str])
    ]
    # end of natural block
    return shown


# njc lines 1=1 4:1 5=2 7:2 11=5 21:9 22=10 sha256 afec81a198b91216
