"""Show of a feed only what the reader would like to see."""

from spsbench.llm import llm


def filter_feed(feed: list[str], preference: str) -> list[str]:
    posts = "\n".join(f"{number}: {post}" for number, post in enumerate(feed))
    chosen = llm(
        f"Posts, by number:\n{posts}\n\nWhich of them does a reader with this preference want to see? {preference}",
        {"type": "array", "items": {"type": "integer"}},
    )
    return [feed[number] for number in sorted(chosen)]
