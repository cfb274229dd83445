"""Three languages, each with a sentence that the tagger never saw when it was made."""

from types import FunctionType, ModuleType
from typing import Any

from spsbench.task import Case, Check, Task


def language(name: str, sample: str, sentence: str, tags: list[str], nouns: set[str]) -> Case:
    def play(program: ModuleType) -> tuple[Any, list[Any]]:
        tagger = program.tagger_for(sample)
        return tagger, tagger(sentence)

    return Case(
        name,
        play,
        (
            Check(
                "the tagger is a new function",
                lambda seen: isinstance(seen[0], FunctionType),
                is_operation=True,
            ),
            Check(
                "its words have the right tags",
                lambda seen: (
                    [word.text for word in seen[1]] == sentence.rstrip(".").split()
                    and [word.tag for word in seen[1]] == tags
                ),
            ),
            Check(
                "its nouns are translated",
                lambda seen: {word.english for word in seen[1] if word.tag == "NOUN"} == nouns,
            ),
        ),
    )


TASK = Task(
    "pos_tagging",
    (
        language(
            "german",
            "Gestern hat es den ganzen Tag geregnet.",
            "Der Hund schläft.",
            ["DET", "NOUN", "VERB"],
            {"dog"},
        ),
        language(
            "spanish",
            "¿Dónde está la biblioteca?",
            "La niña come una manzana.",
            ["DET", "NOUN", "VERB", "DET", "NOUN"],
            {"girl", "apple"},
        ),
        language(
            "french",
            "Il n'y a plus de pain.",
            "Le cheval mange.",
            ["DET", "NOUN", "VERB"],
            {"horse"},
        ),
    ),
    needs_python=True,
)
