"""Taggers made to measure: show a text, get a function that tags and translates its language."""

from collections.abc import Callable
from typing import NamedTuple

from spsbench.llm import llm


class Word(NamedTuple):
    text: str
    tag: str
    english: str


def tag(sentence: str, language: str) -> list[Word]:
    words = llm(
        f"Split this {language} sentence into its words, without punctuation, each with its text as it stands, "
        "its part of speech as a Universal POS tag such as NOUN, VERB or DET, and its English translation in "
        f"lower case.\n\n{sentence}",
        {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    )
    return [Word(*word) for word in words]


def tagger_for(sample: str) -> Callable[[str], list[Word]]:
    language = llm(f"Which language is this? Answer with its English name only.\n\n{sample}")

    def tagger(sentence: str) -> list[Word]:
        return tag(sentence, language)

    return tagger
