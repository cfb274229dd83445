"""Sentences that only judge the inputs, and sentences that may ask for more, by their forms.

    Put into <:mood: str> the mood of <rows>.                  only judges
    Restock <items>. Put their number into <:n: int>.          does not: `restock` may change <items>

`asked_changes` knows verbs that change something. This module knows forms of sentences that change nothing, and takes the
others for requests that it does not understand.
"""

from __future__ import annotations

import re
from itertools import groupby

from njc.analysis.asked_changes import ACTING, ADDING
from njc.analysis.words import compile_words, split_words
from njc.frontend.blocks import NaturalBlock

_INPUT, _OUTPUT = "\x01", "\x02"
"""Placeholders for references among a sentence's words."""
SENTENCE_END = re.compile(r"(?:(?<=\?)|[.;!]|:(?!\s*\x01))(?=\s|\Z)|\n\s*\n|\n\s*[-*•]\s")
_WORD = re.compile(r"[\w'’-]+|[,()?\x01\x02]")
STORES = split_words("put set bind store save write assign give let")
"""Verbs with an output as their object, if the text changes no input."""
_TELLS = split_words("summarize summarise describe answer provide")
_JUDGES = _TELLS | split_words(
    "parse count decide determine judge classify find read estimate choose pick extract compute calculate guess rate score"
    " compare identify look see know consider check examine assess detect infer think counting judging reading looking"
    " considering comparing"
)
STARTS = split_words("given for from in among of if when how which what whether is are does after before otherwise else")  # fmt: skip
_JUMPS = split_words("break continue return raise")
_PREPOSITIONS = split_words("of in for from to by with as into")
SMALL_WORDS = _PREPOSITIONS | split_words(
    "a an the this that these those its their it them they all any each every both no not none nothing only just exactly"
    " about at most least on among between than whether how which what who when where if is are was were has had one two"
    " three"
)
_BEFORE_VERBS = split_words(", ( and or but then also so you please else otherwise")
_SEPARATORS = split_words(", ( ) and but or then also")
UNCHANGING_WORDS = (
    _JUDGES
    | STARTS
    | _JUMPS
    | SMALL_WORDS
    | _BEFORE_VERBS
    | split_words(
        "bind write let some several most many few other such my your our his her here there however because since although"
        " though unless until within without per via regarding concerning according based note assume imagine suppose pretend"
        " treat use using remember recall go understand work think take act be keep translate rephrase create"
        " make draft compose invent generate describe turn convert format round express ask greet thank welcome address"
        " congratulate invite remind warn explain reply respond follow mention ignore obey respect prefer match evaluate review"
        " analyze analyse inspect study scan weigh"
        " search test verify validate ensure solve play start base help avoid stay repeat call let have get imitate quote cite"
        " refer contrast paraphrase outline list name teach predict forecast simulate visualize picture apply do run execute"
        " watch listen"
        " never not tag label rank group cluster combine average split plan prioritize prioritise proofread skim skip interpret"
        " recommend select base role focus disregard number pair grade debate discuss critique apologize apologise confirm"
        " spell offer propose order wish sum brainstorm elaborate cross"
        " double browse map bear draw work figure concentrate derive deduce reason argue speculate summarise suggest advise"
        " consult tokenize segment transcribe resolve diagnose fact spot tally join total aggregate report retell recite rely"
        " stick limit restrict point trust believe doubt expect hope want try question wonder"
    )
)
"""Verbs in sentences that change nothing, or that prepare a later sentence's result."""
_CONDITIONS = split_words("if when unless whether that where otherwise else not only from as for between one two three")  # fmt: skip
"""First words of a sentence part that only restricts a result."""
_PLACES = split_words("to into onto in at on for behind under above below")
_CLAIMS = _PLACES | split_words("with by is are was were has have gets get becomes become it its they them their each all both rest others")  # fmt: skip
"""Words that make a sentence part more than the name of a value."""
_CHANGES = frozenset(f"{ADDING}|{ACTING}|swap|replace|fix|trim|tidy".split("|"))
_AUXILIARIES = split_words("have be do")  # known, except at the start of a request
_KNOWN = SMALL_WORDS | STORES | _JUDGES | _JUMPS | STARTS | _BEFORE_VERBS | {_INPUT, _OUTPUT, ")"}
_PRONOUNS = split_words("it them those these everything")
_OBJECTS = _PRONOUNS | split_words("each all every any the its their") | {_INPUT}
_STATES = compile_words(
    r"\b(?:next\s+(?:[\w-]+\s+)?(?:of|from|in)|so\s+(?:that\s+)?(?:it|they|the|all|each|none?)|in place|in order|itself"
    r"|themselves|(?:by|to) you|leaves|afterwards?|no longer|now|last|left|gone|go|goes|becomes?|remain\w*|stays?|keep|kept"
    r"|first(?=\s*(?:and|[,;.]|\Z))|(?:at|to) the (?:end|start|front|back|top|bottom))\b"
)
"""Words for an input's new state."""
_MAKES_RESULT = re.compile(
    r"[^.;:!?]{0,400}(?:[.;]\s+|,?\s+and\s+)(?:then\s+)?(?:store|save|put|write|bind|return)\s+(?:only\s+)?the\s+(?:result"
    r"|output)\b[^.;!?]*\x02"
)
"""A request that puts its result into an output."""


_BLANKS, _LINES = re.compile(r"[ \t]{2,}"), re.compile(r"\n\s*\n\s*")


def only_judges(block: NaturalBlock) -> bool:
    """Return whether every sentence has a form that only puts a judgement of the inputs into outputs.

    Sentences of other forms may ask for a change, in words that are not listed here.
    """
    text = block.replace_references(lambda each: _OUTPUT if each.writes else _INPUT)
    text = _LINES.sub("\n\n", _BLANKS.sub(" ", text))
    if _STATES.search(text):
        return False
    text = _MAKES_RESULT.sub("", text.lower()).replace("as well as", "and")
    sentences = [words for words in map(_WORD.findall, SENTENCE_END.split(text)) if words]
    return all(
        _is_judgement(words) and _has_one_result(words) and not _may_ask_for_more(words)
        for words in sentences
    )


_ACTS_ON_INPUT = re.compile(
    r"\b(?:break|continue|see|consider)(?: (?:the|each|every|all|both|of)){0,3} \x01(?! [\x02(,]|\Z| for\b)"
    r"|\breturn \x01 (?:to|in|as)\b|\b(?:must|should|shall) be\b| away\b| each\Z"
)
"""Words that usually mean a jump or a judgement, but here have an input as their object: `Break <rows> into two`."""
_STATEMENTS = split_words("is are has have may must should shall will can follows")


def _may_ask_for_more(words: list[str]) -> bool:
    is_act = words[-1] != "?" and _ACTS_ON_INPUT.search(" ".join(words))
    return bool(is_act) or _gives_to_inputs(words) or _states_more(words)


def _states_more(words: list[str]) -> bool:
    """Return whether a part of a request after its first comma is a statement, and so perhaps a request."""
    if words[0] not in STARTS or _OUTPUT not in words:
        return False
    parts = _split(words[: words.index(_OUTPUT)])[1:]
    return any(
        part[0] not in STORES | _JUDGES | _JUMPS | STARTS | _CONDITIONS
        and not _STATEMENTS.isdisjoint(part)
        for part in parts
    )


_OF_EACH = split_words("each every all both")
_INTO_INPUTS = re.compile(
    r"\b(?:in|into|under|to|as|at|by|with|on)(?: (?:the|a|an|its|their|own|new)){0,3} (?:fields?|keys?|attributes?|entry"
    r"|entries|columns?|property|properties|slots?|cells?)\b|\b(?:in|into|under|as|by|with|on) (?:its|their)\b|\b(?:to|with"
    r"|on|under|behind|in) (?:it|them|each)\Z"
)
"""A place in the inputs."""
_ONTO_INPUT = re.compile(
    r"\x01(?: [\w-]+){0,4} (?:to|into|onto) \x01|\bonto\b|\bwith an? |\boff \x01|\A(?:see|look|check) that\b(?! \x02)"
    r"|\Acheck (?:off|.*(?: as| off\b))"
)
_AFTERWARDS = re.compile(r"(?:with|by) each\b|which (?:is|are) to\b")
_WITH_EACH = re.compile(r"\bwith (?:each|all|every|both|them|these|those|it|the (?:rest|others))\b")
_IN_INPUT = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\boccurs )(?<!\bappears )(?<!\bcontained )\b(?:in|as|under"
    r"|at|on|onto)(?: (?:the|its|their|a|an|each of|all of)){0,2} \x01"
)
"""An input that may be the place of a result."""


def _gives_to_inputs(words: list[str]) -> bool:
    """Return whether a request without an output may put its results into the inputs, one into each."""
    if words[-1] == "?":
        return False
    if _WITH_EACH.search(" ".join(words)):
        return True
    parts = _split(words)
    for part, following in zip(parts, [*parts[1:], [""]], strict=True):
        if _OUTPUT in part:
            if _INPUT in part and not split_words("get gets receive receives").isdisjoint(part):
                return True
            continue
        is_request = part[0] in STORES | _JUDGES
        if is_request and _INPUT in part and not _OF_EACH.isdisjoint(part[: part.index(_INPUT)]):
            return True
        if part[0] in STORES and (part[0] == "assign" or following[0] in STORES):
            return True
        text = " ".join(part)
        is_place = words.count(_INPUT) > 1 and _IN_INPUT.search(text)
        if is_place and part[0] not in _CONDITIONS - {"from", "as", "for"}:
            return True
        if part[0] not in STARTS and _INTO_INPUTS.search(text):
            return True
        if part[0] in _JUDGES - {"compare"} and _ONTO_INPUT.search(text):
            return True
        if (part[0] in _TELLS and part[-2:] == ["in", _INPUT]) or _AFTERWARDS.match(text):
            return True
    return False


def _has_one_result(words: list[str]) -> bool:
    """Return whether a sentence is a question, or requests a result for outputs only."""
    if _OUTPUT not in words:
        return words[-1] == "?" or words[0] in _JUDGES or not _JUMPS.isdisjoint(words)
    end = words.index(_OUTPUT)
    before = _split(words[:end])  # something that is put into an input has its own sentence part
    for part in before if words[end - 1] in _SEPARATORS else before[:-1]:
        if part[0] in STORES and _INPUT in part and not _PLACES.isdisjoint(part):
            return False
    parts = _split(words[end + 1 :])
    is_attached = parts != [] and words[end + 1] not in _SEPARATORS
    for part in parts[is_attached:]:
        if part[0] in STORES | _JUDGES | _JUMPS | _CONDITIONS or _OUTPUT in part:
            continue
        if part == [_INPUT] and is_attached and _INPUT in parts[0]:
            continue
        if len(part) > 4 or _INPUT in part or not _CLAIMS.isdisjoint(part):
            return False
        if any(word.endswith(("ed", "ing")) for word in part):
            return False
    return True


def _split(words: list[str]) -> list[list[str]]:
    return [list(part) for ends, part in groupby(words, _SEPARATORS.__contains__) if not ends]


def _is_judgement(words: list[str]) -> bool:
    """Return whether a sentence starts with a known form, and has no unknown word in place of a verb."""
    first = words[0]
    if first not in STORES | _JUDGES | _JUMPS | STARTS | {_OUTPUT}:
        return False
    for at, word in enumerate(words):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        if word in STORES | _TELLS and _OUTPUT not in words[at:]:
            return False
        if word in STORES and (after == _INPUT or (word in ("give", "let") and after != _OUTPUT)):
            return False
        if before == "you" and word not in STORES | _JUDGES:
            return False
        may_be_request = before in _BEFORE_VERBS
        if word in _KNOWN or word.isdigit() or (word in _AUXILIARIES and not may_be_request):
            continue
        is_object = (after in _PRONOUNS and before not in ("that", "who")) or (
            word.endswith("ing")
            and (after in _OBJECTS or before in ("by", "while") or _is_change(word))
        )
        if before == "to" and first in _JUDGES and words[at - 2] == _INPUT:
            return False
        is_first = before == "," and words[at - 2] == _INPUT
        is_listed = after in (",", "or") or (before == "or" and after in ("", "into"))
        is_noun = (is_listed and not is_first) or (
            before in ("and", "or") and after in _PREPOSITIONS
        )
        if is_object or (may_be_request and not is_noun):
            return False
    return True


def _is_change(word: str) -> bool:
    """Return whether an -ing form belongs to a verb that changes its object: removing, dropping, sorting."""
    stem = word.removesuffix("ing")
    return any(verb in _CHANGES for verb in (stem, f"{stem}e", stem[:-1]))
