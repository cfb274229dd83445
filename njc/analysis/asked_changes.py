"""Changes and prints that the words of a text ask for.

    Append 3 to <row>, and put its length into <:n: int>.       append, <row>
    Increase the price of each of <items>.                      increase, <items>
    Sort <names> into <:sorted: list[str]>.                     nothing: the result has an output
    Print <total>.                                              print

Not detected: verbs at unusual places, other words and languages. Proof comes from the types of the inputs: words only
decide if the type is a promise of the author. `only_judges` works the other way round: it knows forms of sentences
that change nothing, and takes all others for changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from njc.frontend.blocks import NaturalBlock
from njc.frontend.prompt_references import Reference


@dataclass(frozen=True, slots=True)
class AskedChange:
    """A verb that asks to change the value of a reference; its offsets are of the source's text."""

    verb: str
    start: int
    end: int
    reference: Reference
    is_sum: bool = False
    """Whether the verb may mean a computation instead, if it adds to a number or a text."""
    has_result: bool = False
    """A later sentence puts the result into an output."""


_CLAUSE = r"(?:\A\s*|[.;:,!?]\s*|\n[ \t]*\n\s*|\n\s*[-*•]\s*|\b(?:and|then|or|also|please|otherwise|else|first|finally)\s+)"
_INSIDE = r"[^.;:!?]{0,80}?"
_DETERMINER = r"(?:(?!of\b|is\b|are\b|that\b|which\b|than\b)[\w'’-]+\s+){0,2}"
_OF = r"(?:(?:the|each|every|all|any|some|its|their|one|two)\s+)?(?:[\w'’-]+\s+){0,3}?(?:of|in|from)\s+(?:the\s+|each\s+of\s+|all\s+)?"
_ADDING = "append|push|insert|prepend|attach|add"
_STORING = "put|save|store|record|write|enter|register|move|copy"
_ACTING = (
    "increase|increment|decrease|decrement|reset|update|modify|mutate|overwrite|mark|flag|tick|clear|empty"
    "|shuffle|truncate|toggle|rename|edit|change|set|sort|reverse|remove|delete|drop|discard|pop|extend"
)
_ANY_VERB = re.compile(rf"\b(?:{_ADDING}|{_STORING}|{_ACTING})")
"""In small letters."""
_INTO = re.compile(
    rf"\b(?P<verb>{_ADDING})(?:s|es)?\b{_INSIDE}\b(?:to|onto|into|in|(?<!based )on)\s+"
    rf"(?:(?:the|each|every|end|start|front|list|all|of|its|one)\s+){{0,4}}\Z"
    rf"|{_CLAUSE}(?P<put>{_STORING})(?:s|es)?\b(?:(?!<:)[^.;:!?]){{0,60}}?\b(?:into|onto|to)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
"""Verbs that put something into the value of a reference behind them."""
_DIRECT = re.compile(
    rf"{_CLAUSE}(?P<act>{_ACTING})\s+(?:off\s+)?"
    rf"(?:{_DETERMINER}|{_OF})\Z",
    re.IGNORECASE,
)
"""Verbs that change the value of a reference behind them, or a part of it."""
_HAS_RESULT = re.compile(
    r"(?!(?:[^.;!?])*?\band\s+(?:put|store|save|bind|set|count|say|give|write|tell)\s+(?!it\b|them\b|the (?:result|new|rest))[^.;!?]*<:)[^.;!?]*<:",
    re.IGNORECASE,
)
"""An output behind the reference that takes the result in place of a change."""
_LATER_RESULT = re.compile(
    r"[.;!?]\s+(?:then\s+)?(?:put|store|save|write|return)\s+(?:only\s+)?(?:it|them|the\s+(?:result|output|new|corrected|changed)\w*)\b[^.;!?]*<:",
    re.IGNORECASE,
)
"""A further sentence that puts the result into an output: a text or a number, which cannot be changed, is then only read."""
_KEEPS = re.compile(
    r"(?:increase|increment|decrease|decrement|reset|set|toggle|mark|flag|tick|update|modify|change|overwrite|clear|empty|add)"
    r"\b[^.;!?]*?(?:[.;!?]|\b(?:and|then)\b)",
    re.IGNORECASE,
)
"""A verb that means an attribute itself, if its clause ends before the output."""
_NEGATED = re.compile(r"(?:\b(?:not|never|without|nothing)|n['’]t)\s+\Z", re.IGNORECASE)
_PRINTS = re.compile(
    rf"{_CLAUSE}(?P<verb>print|log|display|echo|sleep|wait|beep)s?\b(?!\s*[-:])"
    r"|\b(?P<write>writ(?:e|es)|send|print|output|show)\b[^.;:!?]{0,60}?\b(?:to|on|in)\s+(?:the\s+|a\s+)?"
    r"(?:console|screen|terminal|stdout|stderr|standard output|log|file|disk)\b",
    re.IGNORECASE,
)
"""Verbs that only code can do."""
_ANY_PRINT = re.compile(r"\b(?:print|log|display|echo|sleep|wait|beep|writ|send|output|show)")


def find_asked_changes(block: NaturalBlock) -> Iterator[AskedChange]:
    """Yield the changes that a text asks for among its inputs; each reference once."""
    text = block.words
    if not _ANY_VERB.search(block.lowered_words):
        return
    shift = block.end - 3 - len(text)
    written = {path.partition(".")[0] for path in block.writes}
    seen: set[str] = set()
    for reference in block.references:
        if reference.writes or reference.root in written or reference.path in seen:
            continue
        before = text[max(0, reference.start - shift - 200) : reference.start - shift]
        found = _INTO.search(before) or _DIRECT.search(before)
        if found is None or _NEGATED.search(before, 0, found.start()):
            continue
        name = found.lastgroup or "verb"
        clause = f"{found[name]} {text[reference.end - shift :]}".partition("<:")[0]
        keeps = reference.is_dotted and _KEEPS.match(clause)
        if found.re is _DIRECT and not keeps and _HAS_RESULT.match(text, reference.end - shift):
            continue
        seen.add(reference.path)
        start = reference.start - len(before) + found.start(name)
        is_sum = found[name].lower() == "add" and not keeps
        later = _LATER_RESULT.search(text, reference.end - shift) is not None
        end = start + len(found[name])
        yield AskedChange(found[name].lower(), start, end, reference, is_sum, later)


# ── texts that only judge ──────────────────────────────────────────────────────────────────────────


def _list_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INPUT, _OUTPUT = "\x01", "\x02"
"""Take the place of references among the words of a sentence."""
_SENTENCE_END = re.compile(r"(?:(?<=\?)|[.;!]|:(?!\s*\x01))(?=\s|\Z)|\n\s*\n|\n\s*[-*•]\s")
_WORD = re.compile(r"[\w'’-]+|[,()?\x01\x02]")
_STORES = _list_words("put set bind store save write assign give let")
"""Verbs with an output as their object, if the text changes no input."""
_TELLS = _list_words("summarize summarise describe answer provide")
_JUDGES = _TELLS | _list_words(
    "parse count decide determine judge classify find read estimate choose pick extract compute calculate guess rate score compare identify look see know"
    " consider check examine assess detect infer think counting judging reading looking considering comparing"
)
_STARTS = _list_words(
    "given for from in among of if when how which what whether is are does after before otherwise else"
)
_JUMPS = _list_words("break continue return raise")
_PREPOSITIONS = _list_words("of in for from to by with as into")
_SMALL_WORDS = _PREPOSITIONS | _list_words(
    "a an the this that these those its their it them they all any each every both no not none nothing only just exactly about at most least"
    " on among between than whether how which what who when where if is are was were has had one two three"
)
_BEFORE_VERBS = _list_words(", ( and or but then also so you please else otherwise")
_SEPARATORS = _list_words(", ( ) and but or then also")
_CONDITIONS = _list_words(
    "if when unless whether that where otherwise else not only from as for between one two three"
)
"""First words of a part of a sentence that only restricts a result."""
_PLACES = _list_words("to into onto in at on for behind under above below")
_CLAIMS = (
    _list_words(
        "is are was were has have gets get becomes become it its they them their each all both rest others"
    )
    | _PLACES
    | {"with", "by"}
)
"""Words that make a part of a sentence more than a name of a value."""
_CHANGES = frozenset(f"{_ADDING}|{_ACTING}".split("|"))
_AUXILIARIES = _list_words("have be do")
"""Known words, except at the start of a request."""
_KNOWN = (
    _SMALL_WORDS | _STORES | _JUDGES | _JUMPS | _STARTS | _BEFORE_VERBS | {_INPUT, _OUTPUT, ")"}
)
_PRONOUNS = _list_words("it them those these everything")
_OBJECTS = _PRONOUNS | _list_words("each all every any the its their") | {_INPUT}
_STATES = re.compile(
    r"\b(?:next\s+[\w-]+\s+(?:of|from|in)|so\s+(?:that\s+)?(?:it|they|the|all|each|none?)"
    r"|in place|in order|itself|themselves|(?:by|to) you|leaves|afterwards?|no longer|now|last|left|gone|go|goes|becomes?|remain\w*|stays?|keep|kept"
    r"|first(?=\s*(?:and|[,;.]|\Z))|(?:at|to) the (?:end|start|front|back|top|bottom))\b",
    re.IGNORECASE,
)
"""Words for a new state of an input."""
_MAKES_RESULT = re.compile(
    r"[^.;:!?]*(?:[.;]\s+|,?\s+and\s+)(?:then\s+)?(?:store|save|put|write|bind|return)\s+(?:only\s+)?the\s+(?:result|output)\b[^.;!?]*\x02"
)
"""A request whose result is put into an output."""


def only_judges(block: NaturalBlock) -> bool:
    """Return whether each sentence is of a form that only puts a judgement of the inputs into outputs.

    A sentence of another form may ask for a change, in words that are not listed here.
    """
    text = block.replace_references(lambda each: _OUTPUT if each.writes else _INPUT)
    if _STATES.search(text):
        return False
    text = _MAKES_RESULT.sub("", text.lower()).replace("as well as", "and")
    sentences = [words for words in map(_WORD.findall, _SENTENCE_END.split(text)) if words]
    return all(
        _is_judgement(words) and _has_one_result(words) and not _gives_to_inputs(words)
        for words in sentences
    )


_OF_EACH = _list_words("each every all both")
_INTO_INPUTS = re.compile(
    r"\b(?:in|into|under|to|as|at|by|with|on)(?: (?:the|a|an|its|their|own|new)){0,3} (?:fields?|keys?|attributes?|entry|entries|columns?|property|properties|slots?|cells?)\b"
    r"|\b(?:in|into|under|as|by|with|on) (?:its|their)\b|\b(?:to|with|on|under|behind|in) (?:it|them|each)\Z"
)
"""A place in the inputs."""
_ONTO_INPUT = re.compile(
    r"\x01(?: [\w-]+){0,4} (?:to|into|onto) \x01|\bonto\b|\bwith an? |\Acheck (?:off|.*(?: as| off\b))"
)
_AFTERWARDS = re.compile(r"(?:with|by) each\b|which (?:is|are) to\b")


def _gives_to_inputs(words: list[str]) -> bool:
    """Return whether a request without an output may put its results into the inputs, each into one."""
    if words[-1] == "?":
        return False
    parts = _split(words)
    for part, following in zip(parts, [*parts[1:], [""]], strict=True):
        if _OUTPUT in part:
            if _INPUT in part and not _list_words("get gets receive receives").isdisjoint(part):
                return True
            continue
        is_request = part[0] in _STORES | _JUDGES
        if is_request and _INPUT in part and not _OF_EACH.isdisjoint(part[: part.index(_INPUT)]):
            return True
        if part[0] in _STORES and (part[0] == "assign" or following[0] in _STORES):
            return True
        text = " ".join(part)
        if part[0] not in _STARTS and _INTO_INPUTS.search(text):
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
    before = _split(words[:end])  # a thing that is put into an input has its part of the sentence
    for part in before if words[end - 1] in _SEPARATORS else before[:-1]:
        if part[0] in _STORES and _INPUT in part and not _PLACES.isdisjoint(part):
            return False
    parts = _split(words[end + 1 :])
    is_attached = parts != [] and words[end + 1] not in _SEPARATORS
    for part in parts[is_attached:]:
        if part[0] in _STORES | _JUDGES | _JUMPS | _CONDITIONS or _OUTPUT in part:
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
    if first not in _STORES | _JUDGES | _JUMPS | _STARTS | {_OUTPUT}:
        return False
    for at, word in enumerate(words):
        before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
        if word in _STORES | _TELLS and _OUTPUT not in words[at:]:
            return False
        if word in _STORES and (after == _INPUT or (word in ("give", "let") and after != _OUTPUT)):
            return False
        if before == "you" and word not in _STORES | _JUDGES:
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
    """Return whether a word in -ing is of a verb that changes its object: removing, dropping, sorting."""
    stem = word.removesuffix("ing")
    return any(verb in _CHANGES for verb in (stem, f"{stem}e", stem[:-1]))


def find_act(block: NaturalBlock) -> str | None:
    """Return the verb of a request that only code can do, such as to print."""
    if not _ANY_PRINT.search(block.lowered_words):
        return None
    found = _PRINTS.search(block.words_without_references)
    return (found["verb"] or found["write"]).lower() if found else None
