# compiled by njc 0.1.0 from async_and_generators.njpy (sha256 876d04da3272ab67, abi 1)
# do not edit: change async_and_generators.njpy and build again
# pyright: reportUnboundVariable=false
import njrt as _nj
import asyncio


async def fetch(page):
    text: _nj.Any
    try:
        await _nj.arun(
            """natural
    Get the <:text> of <page>.
    """,
            lambda: (text, page),
            writes="text",
            labels="return",
            at="async_and_generators.njpy:5",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
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
                labels="break continue bare_return",
                at="async_and_generators.njpy:13",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
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
                labels="break continue return",
                at="async_and_generators.njpy:21",
            )
        except _nj.Break:
            break
        except _nj.Continue:
            continue
        except _nj.Return as _nj_r:
            return _nj_r.value
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


# njc lines 1=1 5:1 10=5 13:6 15=5 22:8 28=13 31:14 33=13 44:16 50=21 53:22 55=21 66:24 72=29 73:30 75=29 82:32 84=34 sha256 81d2258fd6f283e8
