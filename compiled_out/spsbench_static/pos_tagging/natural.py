# compiled by njc 0.3.0 from pos_tagging/natural.njpy (sha256 366871f90d684876, options cc2447ed8334793a, code bdeb4c5f64fe2d31, abi 1)
# do not edit: change pos_tagging/natural.njpy and build again
# no code by openai/Qwen2.5-Coder-1.5B-Instruct-Q4_K_M (local) is used: the blocks run live
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


# njc lines 1=1 5:1 7=3 8:3 20=14 22:15 26=14 32:19 37=23 39:24 42=23 47:27 48=28 sha256 4a997f191834e008
