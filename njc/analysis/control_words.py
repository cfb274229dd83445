"""The words in a prompt that ask for a jump.

    Break if the <mail> says so.  ...  otherwise, return it.       break, return
    Never break off.                                               named, but negated: none
    The service continues after a coffee break.                    offered, and reported as doubtful
    Skip it, or stop here. Überspringe es.                         none is named; reported as implied

A block is offered the jumps that its text names. Implied jumps are recognised only by their usual words, in the most
spoken languages of Europe, Russian, Chinese and Japanese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from njc.analysis.words import compile_words, split_words
from njc.frontend.blocks import NaturalBlock

JumpLabel = Literal["break", "continue", "return"]
JUMP_LABELS: tuple[JumpLabel, ...] = ("break", "continue", "return")

_NAMES: Mapping[JumpLabel, re.Pattern[str]] = {
    "break": compile_words(r"\bbr(?:eak(?:s|ing)?|oke|oken(?=\s+(?:off|out)\b))\b"),
    "continue": compile_words(r"\bcontinu(?:e|es|ed|ing)\b"),
    "return": compile_words(r"\breturn(?:s|ed|ing)?\b"),
}
"""The words that name a jump."""
_NEGATED = compile_words(r"(?:\b(?:not|never|no|nor|without|cannot|avoid)|n['’]t)\s+(?:\w+ly\s+|ever\s+|(?:\w+\s+)?(?:or|nor)\s+)?\Z")  # fmt: skip
_LIMITS_NEGATION = compile_words(r"[^.;!?\n]*\b(?:unless|until|before|except|but|other than|if not)\b")  # fmt: skip
_CLEARLY_BEFORE = compile_words(
    r"(?:\b(?:it|this|that|which|who|loop|block|function|program|you|is|are|be|been|by|before|when|after|and|or)"
    r"|[>.:;!?])\s*\Z|^\s*\Z"
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)|`[^`\n]*`")


def list_named_jumps(block: NaturalBlock) -> list[JumpLabel]:
    """Return the jumps that a text names, without jumps that it only forbids."""
    return [label for label in JUMP_LABELS if any(_find_names(block, label))]


def _find_names(block: NaturalBlock, label: JumpLabel) -> Iterator[re.Match[str]]:
    text = block.words_without_references
    return (name for name in _list_names(block, label) if not _is_negated(text, name))


def _list_names(block: NaturalBlock, label: JumpLabel) -> list[re.Match[str]]:
    """Return the words that name a jump, whether requested or forbidden."""
    if label[:2] not in block.lowered_words:
        return []
    return list(_NAMES[label].finditer(block.words_without_references))


def _is_negated(text: str, name: re.Match[str]) -> bool:
    before = text[max(0, name.start() - 30) : name.start()]
    return bool(_NEGATED.search(before)) and not _LIMITS_NEGATION.match(text, name.end())


def find_doubtful_names(
    block: NaturalBlock, labels: frozenset[str]
) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield the first name of each legal jump that is only forbidden, or never clearly asked for.

    The flag is whether the jump is offered. Offsets are of the block's prompt.
    """
    text = block.words_without_references
    clear = {word["label"].lower() for word in find_control_words(block)}
    for label in JUMP_LABELS:
        found = _list_names(block, label) if label in labels else []
        asked = [name for name in found if not _is_negated(text, name)]
        if found and not asked:
            yield found[0], False
        elif asked and label not in clear and not any(_is_clear(text, name) for name in asked):
            yield asked[0], True


def _is_clear(text: str, name: re.Match[str]) -> bool:
    """Return whether an inflected name follows a pronoun, a reference or the start of a clause: "it breaks"."""
    is_inflected = name[0].lower() not in JUMP_LABELS
    before = text[max(0, name.start() - 30) : name.start()]
    return is_inflected and bool(_CLEARLY_BEFORE.search(before))


# ── jumps that are meant but not named ───────────────────────────────────────────────────────────

_UNMEANT = re.compile(r"(?:\b(?:not|never|without|bus|full|to be|nicht|nie|no|non|não|ne|jamais|nunca) |n['’]t |\bnon-)\Z")  # fmt: skip
"""The end of the text before words that do not mean a jump, as in "do not stop" and "a full stop"."""
_NEXT = r"(?:one|item|round|iteration|element|entry|line|row|record|step|turn)"
_LOOP = r"th(?:e|is) (?:\w+ )?(?:loop|function)\b"
_IMPLIED: Mapping[JumpLabel, tuple[str, ...]] = {
    "continue": (
        r"skip(?:s|ped|ping)?\b(?![ -]?lists?\b)",
        rf"(?:take|with) the next {_NEXT}\b",
        r"(?:go|goes|move|moves|carry|carries) on\b(?! (?:a|an|the)\b)",
        r"(?:go|move|proceed|jump|advance) to the next\b|pass(?:es)? over\b|do nothing (?:more|further|else)\b",
        rf"(?:ignore|disregard|forget) the rest of (?:this|that|the) {_NEXT}\b",
        r"überspring\w*|lass\w* [^.;\n]{0,30}\baus\b|weiter mit\b|zu[mr] nächsten\b|fortfahren\b|(?:mach|geh|fahr)e? (?:weiter|fort)\b",
        r"saut(?:e|er|ez)\b|pass(?:e|er|ez) (?:à la|au|à l['’]) ?suivant\w*|pass(?:e|er|ez) (?:au|à la|à l)\b|poursui(?:s|vre|vez)\b",
        r"s[aá]lt(?:ar|e|ea|arse)(?:lo|la|los|las)?\b|om[ií]t(?:e|ir|a)(?:lo|la|los|las)?\b|pasa(?:r)? (?:al|a la) siguiente|continúa\b|sigue con\b",
        r"salta(?:re|lo|la|li|le)?\b|passa(?:re)? (?:al|alla|all['’])|prosegui(?:re)?\b",
        r"pul(?:e|ar|a)(?:-[oa]s?)?\b|pass(?:e|ar|a) (?:para )?(?:ao?|o|à) (?:próxim|seguint)\w*|prossig(?:a|ue)\b",
        r"sla [^.;\n]{0,30}\bover\b|overslaan\b|ga (?:door|verder)\b|pomiń\b|pomijaj\b|пропуст\w+|продолж\w+",
    ),
    "break": (
        r"stop(?:s|ped|ping)?\b(?![ -]?(?:words?|signs?|codons?|watch(?:es)?|loss(?:es)?)\b)",
        r"(?:cancel|ignore|drop|disregard|forget|omit|discard) (?:all |any )?(?:of )?(?:the |these |those )?(?:remaining"
        rf"|rest of the|other|further|following|later|subsequent) (?:{_NEXT}s|entries|ones)\b|no (?:more|further) (?:{_NEXT}s"
        r"|entries|rounds)\b",
        rf"(?:leaves?|exits?|ends?|quits?|terminates?|aborts?|finish(?:es)?|(?:get|jump|break) out of) {_LOOP}",
        r"quits?\b|aborts?\b|halts?\b|terminates?\b|bails? out\b|gives? up\b|(?:exit|finish|end|leave) (?:early|here|now)\b",
        r"abbrechen\b|br(?:ich|echen) [^.;\n]{0,30}\bab\b|beende[nt]?\b|aufhören\b|hör(?:e|t"
        r"|en)? (?:(?!nicht\b)[^.;\n]){0,30}\bauf\b|stopp(?:e|en|t)?\b|verlass\w* (?:die |den )?(?:\w+ )?(?:schleife|funktion)\b",
        r"arrêt(?:e|er|ez|ons)\b|interromp(?:s|re|ez)\b|(?:quitt|termin)(?:e|er|ez)\b|sor(?:s|tir|tez) de la boucle",
        r"det(?:ente|ener|enga|énte|én)(?:se)?\b|interrump(?:e|ir|a)\b|abandon[ae]r?\b|sal(?:ir)? del (?:bucle|ciclo)|termin[ae]r?\b|para aquí\b",
        r"ferma(?:ti|re|rsi)?\b|smett(?:i|ere)\b|interromp(?:i|ere|er|a)\b|esc[ie]\b|uscire\b",
        r"par(?:e|ar)\b(?! down)|encerr(?:e|ar|a)\b|sa(?:ia|ir) do (?:laço|ciclo|loop)|breek [^.;\n]{0,30}\baf\b|przerwij\b|zakończ\b",
        r"останов\w+|прерв\w+|прекрат\w+|выйд\w+",
    ),
    "return": (
        r"(?:hand|give|send|pass|report)s? (?:[^.;\n]{0,30}\s)?back\b|(?<!an )(?<!the )(?<!your )(?:answer|hand|give|send|pass"
        r"|report|reply|deliver|respond)\w* (?:[^.;\n]{0,40}\s)?(?:to )?the callers?\b|the caller (?:gets?|receives?|is given)\b",
        r"the (?:answer|value|result) of (?:the|this) (?:function|method|call) (?:is|shall be|should be|becomes)\b",
        r"gib\b[^.;\n]{0,40}\bzurück\b|zurückgeben\b|liefere\b|geef\b[^.;\n]{0,40}\bterug\b",
        r"renvo(?:ie|yer|yez)\b|retourn(?:e|er|ez)\b|devuelv(?:e|a)\b|devolv(?:er|a)\b|retorn[ae]r?\b|restitui(?:sci|re)\b|ritorna(?:re)?\b",
        r"zwróć\b|верн(?:и|ите|уть)\b",
    ),
}  # fmt: skip
_IMPLIED_PATTERNS = {label: compile_words(rf"\b(?:{'|'.join(words)})", 0) for label, words in _IMPLIED.items()}  # fmt: skip
"""For lower-case texts: ignoring case here takes three times as long."""
_WITHOUT_BLANKS: Mapping[JumpLabel, re.Pattern[str]] = {
    "continue": re.compile("跳过|跳過|继续|スキップ|飛ば|건너뛰"),
    "break": re.compile("停止|中断|中止|终止|退出|跳出|終了|やめ|抜け|멈추|중단"),
    "return": re.compile("返回|返す|返し|반환"),
}
"""The same, for languages without blanks between words."""


def find_implied_jumps(
    block: NaturalBlock, offered: frozenset[str]
) -> Iterator[tuple[slice, list[str]]]:
    """Yield the place of words for a legal jump that is not offered, with the jumps that the words may mean."""
    text = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), block.lowered_words)
    legal: list[str] = [name for name in block.labels if name not in block.labels_exiting_finally]
    for jump, words in _IMPLIED_PATTERNS.items():
        wanted = {"break": ("break", "return"), "return": ("return", "break")}.get(jump, (jump,))
        names = [name for name in wanted if name in legal]
        if jump == "continue" and not names and "return" in legal:
            names = ["return"]
        if not names or not offered.isdisjoint(names) or any(_find_names(block, jump)):
            continue  # named illegal jumps are reported elsewhere
        if implied := _find_meant(words, text) or _WITHOUT_BLANKS[jump].search(text):
            yield slice(*implied.span()), names


def _find_meant(words: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Find the first match that no negation precedes."""
    found = words.search(text)
    while found and _UNMEANT.search(text, max(0, found.start() - 10), found.start()):
        found = words.search(text, found.start() + 1)
    return found


# ── names that are certainly statements ──────────────────────────────────────────────────────────

_WORD = compile_words(r"\b(?P<label>break|continue|return)\b")
_BEFORE = re.compile(r"(?P<word>[\w'’>]+)?(?P<gap>[^\w'’>]*)\Z")
_VERB_FOLLOWS = split_words(
    "and or but then else otherwise to must should shall may can could will would might do does not never please just"
    " simply only also immediately directly now finally you it we which that loop so else>"
)
"""The words before a verb within a sentence."""
_AFTER = {
    "break": compile_words(
        r"\s*(?:[.,;:!?)`'\"*–—-]|\Z|(?:if|when|once|after|as|out|from|and|or|unless|on|at|here|now|immediately|otherwise|in"
        r"|the\s+(?:\w+\s+)?loop|this\s+loop|without|with|before|instead|because|since|while)\b)"
    ),
    "continue": compile_words(
        r"\s*(?:[.,;:!?)`'\"*–—-]|\Z|(?:if|when|once|after|as|and|or|unless|on|at|here|now|immediately|otherwise|in"
        r"|the\s+(?:\w+\s+)?loop|with|without|to|instead|because|since|while|for|past)\b)"
    ),
    "return": compile_words(
        r"(?!\s+(?:tickets?|flights?|trips?|journeys?|address(?:es)?|values?|types?|codes?|keys?|labels?|visits?|polic(?:y|ies)"
        r"|receipts?|statements?|rates?|home)\b)"
    ),
}


_OBJECT_FOLLOWS = compile_words(
    r"return\s+(?:(?:it|them|this|that|its|none|true|false|nothing)\b|<)|(?:break|continue)\s+(?:out of|with)?\s*th(?:e"
    r"|is) (?:\w+ )?loop\b"
)
"""The texts that only follow the statement, after any word."""


def find_control_words(block: NaturalBlock) -> Iterator[re.Match[str]]:
    """Find the words that ask for a jump; offsets are in the block's prompt."""
    text = block.words
    if not any(label in block.lowered_words for label in JUMP_LABELS):
        return
    for word in _WORD.finditer(block.words_without_references):
        before = _BEFORE.search(text, max(0, word.start() - 40), word.start())
        assert before, "the pattern matches the empty text"
        begins = not before["word"] or not before["gap"].isspace()
        verb = begins or before["word"].lower() in _VERB_FOLLOWS
        verb = verb or bool(_OBJECT_FOLLOWS.match(text, word.start()))
        if verb and _AFTER[word["label"].lower()].match(text, word.end()):
            yield word
