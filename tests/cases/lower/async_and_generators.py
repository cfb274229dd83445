# compiled by njc 0.1.0 from async_and_generators.njpy (sha256 876d04da3272ab67, abi 1)
# do not edit: change async_and_generators.njpy and build again
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
            ns=locals(),
            own="limit",
            at="async_and_generators.njpy:29",
        )

    return Inner.limit


# njc lines 1=1 4:1 9=5 12:6 14=5 21:8 27=13 30:14 32=13 43:16 49=21 52:22 54=21 65:24 71=29 72:30 74=29 80:32 82=34 sha256 54b8c4b61a6c605d
