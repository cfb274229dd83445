# compiled by njc 0.3.0 from pos_tagging/natural.njpy (sha256 366871f90d684876, options cc2447ed8334793a, abi 1)
# do not edit: change pos_tagging/natural.njpy and build again
# pyright: reportUnboundVariable=false
"""Taggers made to measure: show a text, get a function that tags and translates its language."""

import njrt as _nj
from collections.abc import Callable
from typing import NamedTuple


class Word(NamedTuple):
    text: str
    tag: str
    english: str


def tag(sentence: str, language: str) -> list[Word]:
    words: list[Word]
    _nj.run(
        """natural
    Split the <sentence>, which is in <language>, into its words, without punctuation, and store them in
    <:words: list[Word]>: each a <Word> with its text as it stands, its part of speech as a Universal POS tag
    such as NOUN, VERB or DET, and its English translation in lower case.
    """,
        lambda: (sentence, language, words, Word),
        writes="words",
        types=lambda: {"words": list[Word]},
        at="pos_tagging/natural.njpy:14",
        effects="answer",
    )
    return words


def tagger_for(sample: str) -> Callable[[str], list[Word]]:
    tagger: Callable[[str], list[Word]]
    _nj.run(
        """natural
    Find out which language the <sample> is written in, and define a function <:tagger> that takes
    a sentence of that language and returns what <tag> gives for it.
    """,
        lambda: (sample, tagger, tag),
        writes="tagger",
        types=lambda: {"tagger": Callable[[str], list[Word]]},
        at="pos_tagging/natural.njpy:23",
    )
    return tagger


# njc lines 1=1 4:1 6=3 7:3 19=14 21:15 25=14 31:19 36=23 38:24 41=23 46:27 47=28 sha256 68ada93b2d3fc554
