# compiled by njc 0.3.0 from typed_results.njpy (sha256 80a13a510d3bafcf, abi 1)
# do not edit: change typed_results.njpy and build again
# pyright: reportUnboundVariable=false
"""What a type checker accepts: mypy --strict and pyright check the compiled form of this file."""

import njrt as _nj
from collections.abc import Generator, Iterator


class Shop:
    def __init__(self, name: str):
        try:
            _nj.run(
                """natural
        Set <:self.name> to the <name>, and return.
        """,
                lambda: (self, name),
                writes="self.name",
                parts="self.name",
                labels="return",
                cls="Shop",
                at="typed_results.njpy:8",
            )
        except _nj.Return:
            return
        self.name: str = name

    def close(self) -> None:
        try:
            _nj.run(
                """natural
        Close <self>, or return.
        """,
                lambda: (self,),
                types=lambda: {"return": None},
                labels="return",
                cls="Shop",
                at="typed_results.njpy:14",
            )
        except _nj.Return:
            return


def words(text: str) -> "list[str]":
    for line in text.split("\n"):
        found: list[str]
        try:
            _nj.run(
                """natural
        Split <line> into <:found: list[str]>; return them if they are few.
        """,
                lambda: (line, found),
                writes="found",
                types=lambda: {"found": list[str], "return": list[str]},
                labels="return",
                at="typed_results.njpy:21",
                effects="answer",
            )
        except _nj.Return as _nj_r:
            return _nj_r.value
    return found


async def translate(text: str) -> str:
    english: str
    try:
        await _nj.arun(
            """natural
    Translate <text> into <:english>, or return it.
    """,
            lambda: (text, english),
            writes="english",
            types=lambda: {"english": str, "return": str},
            labels="return",
            at="typed_results.njpy:28",
            effects="answer",
        )
    except _nj.Return as _nj_r:
        return _nj_r.value
    return english


def counted(text: str) -> Generator[int, None, None]:
    number: int
    try:
        _nj.run(
            """natural
    Count <text> into <:number: int>, or return.
    """,
            lambda: (text, number),
            writes="number",
            types=lambda: {"number": int},
            labels="return",
            at="typed_results.njpy:35",
            effects="answer",
        )
    except _nj.Return:
        return
    yield number


def lines(text: str) -> Iterator[str]:
    try:
        _nj.run(
            """natural
    Return if <text> is empty.
    """,
            lambda: (text,),
            labels="return",
            at="typed_results.njpy:42",
            effects="answer",
        )
    except _nj.Return:
        return
    yield text


def nothing(text: str) -> "None":
    try:
        _nj.run(
            """natural
    Return if <text> is empty.
    """,
            lambda: (text,),
            types=lambda: {"return": None},
            labels="return",
            at="typed_results.njpy:49",
            effects="answer",
        )
    except _nj.Return:
        return


# njc lines 1=1 4:1 6=3 7:3 13=8 15:9 17=8 26:11 30=14 32:15 34=14 42:17 47=21 50:22 52=21 61:24 66=28 69:29 71=28 80:31 85=35 88:36 90=35 99:38 104=42 106:43 108=42 115:45 120=49 122:50 124=49 132=52 sha256 d971d3144970eb17
