# compiled by njc 0.3.0 from async_and_generators.njpy (sha256 876d04da3272ab67, abi 1)
# do not edit: change async_and_generators.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
import asyncio


async def fetch(page):
    text: _nj.Any
    await _nj.arun(
        """natural
    Get the <:text> of <page>.
    """,
        lambda: (text, page),
        writes="text",
        at="async_and_generators.njpy:5",
    )
    return text


async def titles(pages):
    async for page in pages:
        title: _nj.Any
        try:
            await _nj.arun(
                """natural
        Put the title of <page> into <:title>; return when there is none.
        """,
                lambda: (page, title),
                writes="title",
                labels="bare_return",
                at="async_and_generators.njpy:13",
            )
        except _nj.Return:
            return
        yield title


def words(lines):
    for line in lines:
        parts: _nj.Any
        try:
            _nj.run(
                """natural
        Split <line> into <:parts>; continue if it is empty.
        """,
                lambda: (line, parts),
                writes="parts",
                labels="continue",
                at="async_and_generators.njpy:21",
            )
        except _nj.Continue:
            continue
        yield from parts


async def outer():
    class Inner:
        _nj.run(
            """natural
        Bind <:limit>.
        """,
            lambda: (),
            writes="limit",
            cls="Inner",
            ns=locals(),
            own="limit",
            at="async_and_generators.njpy:29",
        )

    return Inner.limit


# njc lines 1=1 5:1 10=5 12:6 14=5 18:8 24=13 27:14 29=13 36:16 42=21 45:22 47=21 54:24 60=29 61:30 63=29 70:32 72=34 sha256 8fb9b73feb41c898
