"""What a perfect model says for pos_tagging, and a slip."""

from spsbench.script import CaseScript, Mistake, Script


def lines(language: str, *words: str) -> CaseScript:
    """Each word as `text/TAG/english`."""
    split = [word.split("/") for word in words]
    tagger = f"def tagger(sentence):\n    return tag(sentence, {language!r})"
    tagged = f"words = [Word(*word) for word in {split!r}]"
    return CaseScript((language, split), (tagger, tagged))


SCRIPT = Script(
    {
        "german": lines("German", "Der/DET/the", "Hund/NOUN/dog", "schläft/VERB/sleeps"),
        "spanish": lines(
            "Spanish",
            "La/DET/the",
            "niña/NOUN/girl",
            "come/VERB/eats",
            "una/DET/an",
            "manzana/NOUN/apple",
        ),
        "french": lines("French", "Le/DET/the", "cheval/NOUN/horse", "mange/VERB/eats"),
    },
    Mistake(
        "french",
        lines("French", "Le/DET/the", "cheval/NOUN/hair", "mange/VERB/eats"),
        fails=("its nouns are translated",),
    ),
)
