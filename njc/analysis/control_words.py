"""The words break, continue and return in a prompt, where they ask for the statement.

    Break if the <mail> says so.  ...  otherwise, return it.       break, return
    Break the <text> into lines during the coffee break.           neither
    A return ticket, and what it may return.                       return

Recognised by the words beside them. Taken for a statement by mistake: some other uses of the verbs, as in
"return the book to its shelf". Not recognised: other words for a jump, as in "leave the loop" or "stop here",
and other languages than English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from njc.frontend.blocks import NaturalBlock

_WORD = re.compile(r"\b(?P<label>break|continue|return)\b", re.IGNORECASE)
_BEFORE = re.compile(r"(?P<word>[\w'’>]+)?(?P<gap>[^\w'’>]*)\Z")
_VERB_FOLLOWS = frozenset(
    [
        "and",
        "or",
        "but",
        "then",
        "else",
        "otherwise",
        "to",
        "must",
        "should",
        "shall",
        "may",
        "can",
        "could",
        "will",
        "would",
        "might",
        "do",
        "does",
        "not",
        "never",
        "please",
        "just",
        "simply",
        "only",
        "also",
        "immediately",
        "directly",
        "now",
        "finally",
        "you",
        "it",
        "we",
        "which",
        "that",
        "loop",
        "so",
        "else>",
    ]
)
"""The words after which a verb stands within a sentence."""
_AFTER = {
    "break": re.compile(
        r"\s*(?:[.,;:!?)`'\"*–—-]|\Z|(?:if|when|once|after|as|out|from|and|or|unless|on|at|here|now|immediately"
        r"|otherwise|in|the\s+(?:\w+\s+)?loop|this\s+loop|without|with|before|instead|because|since|while)\b)",
        re.IGNORECASE,
    ),
    "continue": re.compile(
        r"\s*(?:[.,;:!?)`'\"*–—-]|\Z|(?:if|when|once|after|as|and|or|unless|on|at|here|now|immediately|otherwise"
        r"|in|the\s+(?:\w+\s+)?loop|with|without|to|instead|because|since|while|for|past)\b)",
        re.IGNORECASE,
    ),
    "return": re.compile(
        r"(?!\s+(?:tickets?|flights?|trips?|journeys?|address(?:es)?|values?|types?|codes?|keys?|labels?|visits?"
        r"|polic(?:y|ies)|receipts?|statements?|rates?|home)\b)",
        re.IGNORECASE,
    ),
}


def find_control_words(block: NaturalBlock) -> Iterator[re.Match[str]]:
    """Find the words that ask for a jump; offsets are of the block's prompt."""
    text = block.words
    for word in _WORD.finditer(text):
        before = _BEFORE.search(text, max(0, word.start() - 40), word.start())
        assert before, "the pattern matches the empty text"
        begins = not before["word"] or not before["gap"].isspace()
        verb = begins or before["word"].lower() in _VERB_FOLLOWS
        if verb and _AFTER[word["label"].lower()].match(text, word.end()):
            yield word
