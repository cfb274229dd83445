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

import functools
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
    may_compute: bool = False
    """Whether the words may mean a computation instead, if the value is a number or a text."""
    has_result: bool = False
    """An output behind it, or a later sentence, takes the result."""


# In the patterns, `\x01+` is an input and `\x02+` an output: NaturalBlock.marked_words has them in place of references;
# `\x03` is a comma that is missing before a request.

_ADVERB = (
    r"(?:now|just|always|next|simply|again|immediately|[a-z]+ly|do|please|then|also|first|finally|you|should|must|shall|will|can|could|would|may|let['’]s|have\s+to|need\s+to|are\s+to"
    r"|(?:make|be)\s+sure\s+(?:to|that\s+you)|remember\s+to|(?:i|we)\s+(?:want|need|would\s+like|ask)\s+you\s+to|your\s+(?:task|job)\s+is\s+to|it\s+is\s+(?:important|necessary|your\s+(?:task|job))\s+to)\s+"
)
_CLAUSE = (
    r"(?:\A\s*|[.;:,!?()\x03]\s*|\n[ \t]*\n\s*|(?:\A|\n)\s*[-*•]\s*|\s[-–—]\s+|\b(?:and|then|or|also|please|otherwise|else|first|finally)\s+)"
    rf"(?:{_ADVERB}){{0,4}}"
)
_PART = r"(?:\"[^\"\n]*\"|[^.;:!?\"\x02]|[.:](?=\d))"
_INSIDE = rf"{_PART}{{0,80}}?"
_DETERMINER = r"(?:(?!of\b|is\b|are\b|that\b|which\b|than\b)[\w'’-]+\s+){0,2}"
_OF = r"(?:(?:the|each|every|all|any|some|its|their|one|two)\s+)?(?:[\w'’-]+\s+){0,3}?(?:of|in|from)\s+(?:the\s+|each\s+of\s+|all\s+)?"
_AND_INPUT = r"(?:\x01+\s+(?:and|or|with)\s+(?:the\s+)?)?"
_TAIL = (
    r"(?:(?:the|each|every|all|any|end|start|front|back|top|bottom|be(?:ginning)|head|tail|list|dict|set|fields?|attributes?|key|entry|entries|place|slot|cell"
    r"|position|column|row|items?|elements?|values?|of|in|its|one|both|first|second|third|last|next|\w+est)\s+){0,5}"
)
_ADDING = "append|push|insert|prepend|attach|add"
_ADDED = "add|append|insert|push|mov|stor|sav|record|enter|attach|plac|copi"
_STORING = "put|save|store|record|enter|register|move|copy|inject|merge|stack|enqueue|queue|unshift|credit|charge|deposit|include|concatenate"
_NO_PLACING = r"(?!\s+(?:(?:the|your|our|more|some)\s+)?(?:focus|attention|emphasis|weight|trust|stress|eyes?|gaze|on|over)\b)"
_GATHERING = "count|sum|collect|gather|accumulate"
_ACTING = (
    "increase|increment|decrease|decrement|reset|update|modify|mutate|overwrite|mark|flag|tick|clear|empty"
    "|shuffle|truncate|toggle|rename|edit|change|set|sort|reverse|remove|delete|drop|discard|pop|extend"
)
_RIDDING = r"throw\s+(?:away|out)|get\s+rid\s+of|eliminate"
_EXCLUDING = rf"{_RIDDING}|exclude|strike|ban|expel|kick|(?:keep|leave|retain)\s+only"
_SUBTRACTING = "subtract|deduct|withdraw|debit"
_REPLACING = rf"{_RIDDING}|replace|swap|exchange|erase|wipe|purge|zero|bump|initiali[sz]e"
_REVISING = (
    "make|turn|fill|rotate|double|halve|triple|invert|flip|shift|trim|crop|adjust|amend|rewrite|correct|fix|repair|clean|tidy|normali[sz]e"
    "|advance|adapt|refill|expand|reduce|shrink|enlarge|multiply|divide|inc|dec|arrange|filter"
    "|capitali[sz]e|uppercase|lowercase|deduplicate|dedupe|prune|lower|take|cut|strip"
    "|annotate|enrich|supplement|anonymi[sz]e|redact|censor|saniti[sz]e|populate|activate|deactivate|enable|disable|archive"
    "|nullify|unset|revert|restore|rework|patch"
)
_TREATING = (
    "tag|label|stamp|prefix|suffix|pad|wrap|mask|escape|indent|cap|limit|improve|polish|complete|promote|demote"
    "|approve|cancel|close|lock|unlock|sign"
)
"""Verbs that change a value if their object is each part of it, or all; many are nouns, too."""
_EACH_OF = r"(?:each|every|all|both)(?:\s+(?:one|single|of|the|element|item|row|entry)){0,4}\s+"
_ADDITIONS = "discount|change|fix|correction|tax|rate|increase|reduction|patch|update|tag|label|raise|bonus|fee|edit|percentage"
_REMOVING = "remove|delete|drop|discard|pop|erase|strip|cut|take|wipe"
_DOING = (
    "increas|increment|decreas|decrement|resett|updat|modify|mutat|overwrit|mark|flagg|tick|clear|empty|truncat|toggl|renam|edit|chang|sett|remov"
    "|delet|dropp|discard|popp|extend|replac|swapp|empti|modifi"
)
_MARKUP = re.compile(
    r"[`*_\"'(]+(?=\x01)|(?<=\x01)[`*_\"')]+|(?<=[a-z])\*+|\*+(?=[a-z])", re.IGNORECASE
)
"""Quotes and emphasis around references and words."""
_VERBS = rf"\b(?:go|gain|get|lose|become|receive|throw|eliminate|exclude|strike|ban|expel|kick|cross|keep|leave|retain|{_SUBTRACTING}|ensure|raise|order|bring|bind|give|new|in.place|{_ADDED}|{_GATHERING}|{_ADDING}|{_STORING}|{_ACTING}|{_REPLACING}|{_REVISING}|{_DOING}|write|place|assign|note|file|let|have|log|belongs|see\s+to|{_TREATING}|create|open|start|apply|applies)"
_ANY_VERB = re.compile(rf"{_VERBS}|[-+*/%|&^:]=|\+\+|\]\s*=")
"""In small letters, or an assignment."""
_ANY_VERB_OF_TEXT = re.compile(_VERBS, re.IGNORECASE)
_INTO = re.compile(
    rf"\b(?P<add>{_ADDING})(?:s|es)?\b{_INSIDE}\b(?:to|onto|into|in|(?<!based )on)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<put>{_STORING})(?:s|es)?\b{_NO_PLACING}{_PART}{{0,60}}?\b(?:into|onto|to)\s+(?:the\s+)?\Z"
    rf"|{_CLAUSE}(?P<gather>{_GATHERING})\b{_PART}{{0,60}}?\binto\s+(?:the\s+)?\Z"
    rf"|\b(?P<goes>go(?:es)?|(?:is|are|gets?)\s+(?:add|append|insert|push|mov)ed|(?:must|should|shall|has\s+to|have\s+to)\s+be\s+(?:(?:{_ADDED})ed|put))\s+(?:to|into|onto|in|on)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<create>create|make|open|start)\s+an?\s+(?:new\s+|empty\s+)?(?:entry|row|record|item|element|key|slot|line|field|column)\b{_INSIDE}\b(?:in|to|at|on|under)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<apply>appl(?:y|ies))\s+(?:(?:the\s+|an?\s+)?\x01+|(?:(?:the|an?|this)\s+)?(?:\w+\s+)?(?:{_ADDITIONS})s?\b{_INSIDE})\s+to\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<held>ensure|make\s+sure|see\s+to\s+it|have|let)\s+(?:that\s+)?(?:the\s+)?(?:\x01+|\"[^\"]*\")\s+(?:is|are|be|gets?|goes)\s+(?:also\s+|now\s+)?(?:in|on|part\s+of|among)\s+{_TAIL}\Z"
    rf"|(?P<belongs>\x01+\s+belongs)\s+(?:in|into|to|on|under)\s+{_TAIL}\Z"
    r"|\b(?P<new>as\s+(?:the|its|their)\s+new|make\s+\x01+\s+(?:the|its|their)(?:\s+new)?)\s+\Z",
    re.IGNORECASE,
)
"""Verbs that put something into the value of a reference behind them."""
_PLACED = re.compile(
    rf"{_CLAUSE}(?P<place>{_ADDING}|{_STORING}|write|place|assign|note|file|log)(?:s|es)?{_NO_PLACING}\s+"
    rf"(?!(?:into|onto|to|in|on)\b)(?P<object>{_INSIDE})\s"
    rf"(?:into|onto|to|in|(?<!based )on|at|as|under|behind|before|after)\s+{_TAIL}\Z",
    re.IGNORECASE,
)
"""The same with other verbs and places, which more often restrict the meaning of the object."""
_DIRECT = re.compile(
    rf"{_CLAUSE}(?P<act>{_ACTING})\s+(?:(?:off|up|out|down|over)\s+)?{_AND_INPUT}(?:{_DETERMINER}|{_OF})\Z"
    rf"|{_CLAUSE}(?P<replace>{_REPLACING})\s+(?:out\s+)?{_AND_INPUT}(?:{_DETERMINER}|{_OF})\Z"
    rf"|{_CLAUSE}(?P<revise>make|turn)\s+(?:(?:the|all|each|every|both|of)\s+){{0,3}}\Z"
    rf"|{_CLAUSE}(?P<fix>(?!make|turn|take|cut)(?:{_REVISING}))\s+(?:(?:off|up|out|in|down)\s+)?(?:{_DETERMINER}|{_OF})\Z"
    rf"|{_CLAUSE}(?P<treat>{_TREATING})\s+(?:in\s+|out\s+)?{_EACH_OF}(?:{_DETERMINER})\Z"
    rf"|,\s*(?:then\s+|also\s+)?(?P<doing>(?:{_DOING})ing)\s+(?:{_DETERMINER}|{_OF})\Z"
    rf"|{_CLAUSE}(?P<let>let)\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
"""Verbs that change the value of a reference behind them, or a part of it."""
_FROM = re.compile(
    rf"{_CLAUSE}(?P<pop>pop)\b{_INSIDE}\b(?:from|off|out\s+of|of|in)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<off>{_REMOVING}|cross|check)\b{_INSIDE}\boff\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<remove>remove|delete|drop|discard|erase|{_EXCLUDING})\b{_INSIDE}\b(?:from|out\s+of|in)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<take>take|strip|cut)\b{_INSIDE}\bout\s+of\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<minus>{_SUBTRACTING}|filter\s+out)\b{_INSIDE}\bfrom\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?P<within>replace|swap|exchange)\b{_INSIDE}\b(?:in|within|throughout)\s+{_TAIL}\Z",
    re.IGNORECASE,
)
"""Verbs that take something out of the value of a reference behind them."""
_PLACE_FIRST = re.compile(
    rf"(?:\A\s*|[.;:,!?(]\s*|\b(?:and|then)\s+)(?:in|into|onto|to|from|off)\s+{_TAIL}\Z",
    re.IGNORECASE,
)
_THEN_VERB = re.compile(
    rf"\x01+,?\s+(?:{_ADVERB}){{0,2}}(?P<first>{_ADDING}|{_STORING}|{_ACTING}|{_REPLACING}|(?!make|turn|take)(?:{_REVISING}))\b(?!\s+in\b)",
    re.IGNORECASE,
)
"""A place before its verb: `Into <row>, append <n>.`"""
_OTHER_TARGET = re.compile(
    r"[^.;:,!?\x02]{0,60}?\b(?:from|off|out\s+of)\b|[^.;:,!?\x02]{0,60}?\bin\s+[^.;:,!?\x02]{0,40}\x01"
)
"""Behind the object of a verb that removes or replaces: the value that the object is taken from."""
_STATED = re.compile(
    r"(?P<state>\x01+\s*(?:(?:[-+*/%|&^]|//|\*\*)=|\+\+)|\x01+\[[^\]\n]{0,40}\]\s*=(?!=)|\x01+\s+(?:(?:goes|grows?|shrinks?|rises?|falls?|drops?|(?:in|de)creases?)\s+(?:up|down|by)|(?:gets|receives)(?=\s+(?:[\x01\d\"]|an?\b|one\b))|loses|becomes?|gains|in[\s-]place)\b"
    r"|\x01+\s*:=|(?<=\bnew )\x01+\s+is\s+[\x01\d\"]|\x01+\s+(?:is|are)\s+(?:(?:in|de)cre(?:as|ment)ed|reset|emptied|set\s+to)\b"
    r"|\x01+\s+(?:must|should|shall|needs?\s+to|ha(?:s|ve)\s+to|(?:is|are)\s+to)\s+(?:(?:now|then|also|always|finally)\s+)?(?:be|get|become)\s+(?:[a-z]+ly\s+)?"
    rf"(?:(?:{_DOING}|sort|shuffl|revers|doubl|halv|fill|(?:upper|lower)-?cas)ed|set|reset|overwritten|empty)\b)",
    re.IGNORECASE,
)
"""A change as a statement: `<row> must be emptied`, `<total> += 1`."""
_CHANGED = rf"(?:{_DOING}|sort|shuffl|revers|doubl|halv|fill)ed"
_CONTINUED = {
    verb: re.compile(rf"\s+(?:{words})\b", re.IGNORECASE)
    for verb, words in {
        "order": "by",
        "raise": "by|to",
        "bring": "into",
        "bind": "to",
        "put": r"in(?:to)?\s+(?:[\w-]+\s+){0,3}order",
        "move": r"to\s+the\s+(?:end|front|start|top|bottom|back)",
        "give": r"an?\s+(?:new|extra|additional|further)|another|one\s+more|the\s+(?:new\s+)?value",
        "assign": r"the\s+(?:new\s+)?value",
        "have": _CHANGED,
        "get": _CHANGED,
        "let": rf"be\b(?=\s+(?:now\s+)?(?:[\x01\d\"]|one\s+(?:more|less)\b|(?:an?\s+)?empty\b|{_CHANGED}\b))",
        "ensure": "is|are|has|have|ends?|starts?|contains?|holds?",
    }.items()
}
"""Verbs that ask for a change with these words behind the reference."""
_CONTINUES = re.compile(
    rf"{_CLAUSE}(?:(?P<verb>{'|'.join(_CONTINUED)})(?:\s+that)?|(?P<sure>(?:make\s+sure|see\s+to\s+it)(?:\s+that)?))\s+(?:{_DETERMINER}|{_OF})\Z",
    re.IGNORECASE,
)
_WITHOUT_COMMA = re.compile(
    r"(?:\b(?:if|when|whenever|unless|once)\b[^.;:,!?]{1,80}?\b(?:is|are|was|were|has|have|contains?|exceeds?)\s[^.;:,!?\s][^.;:,!?]{0,40}?"
    r"|\bfor\s+(?:each|every|all)\b[^.;:,!?]{1,80}?\x01)(?<!\bto)(?<!\bnot)(?<!\bthe)(?<!\ba)(?<!\ban)(?<!\bno)(?<!\bany)(?<!\bof)(?<!\bis)(?<!\bare)(?<!\bbe)"
    rf"\s(?=(?:{_ADDING}|{_STORING}|{_ACTING}|{_REPLACING}|{_REVISING}|{_EXCLUDING}|{'|'.join(_CONTINUED)}|{_SUBTRACTING}|filter|write|assign|print|log|display)\b)",
    re.IGNORECASE,
)
"""A condition or a loop before a request, without a comma."""
_ASKS = re.compile(
    r"\b(?:whether|why|how|that|which|what|who|where|because|imagine|assum(?:e|ing)|suppos(?:e|ing)|pretend|sa(?:ys?|id)|(?:if|when|unless)\b(?![^.;:,!?]*\s(?:is|are|was|were|has|have|contains?|exceeds?)\s))\b[^.;:,!?]*\Z",
    re.IGNORECASE,
)
"""Words that make a statement a part of a question or a condition."""
_PUT_THERE = re.compile(r"[^\x02]{0,20}?\b(?:put|add|place|file|store|move|append|insert)\s+(?:it|them)\s+(?:there|in)\b", re.IGNORECASE)  # fmt: skip
_IF_NOT = re.compile(r"[^\x02]*\b(?:if\s+(?:so|not|it|they)|otherwise|else)\b", re.IGNORECASE)
"""Words after a condition that is to be checked."""
_WITH_INPUT = re.compile(r"\s+(?:with|as|by)\s+(?:the\s+)?[\x01\"]", re.IGNORECASE)
_GROWS = re.compile(
    r"\x01+\s+(?:grow|shrink|become|increase|decrease|rise|fall|lose|gain|forget)\b", re.IGNORECASE
)
_SIMPLE = re.compile(
    r"(?:(?:the\s+)?\x01+|\"[^\"]*\"|[\d.]+|it|them|this|these|that|one|two|three|nothing|none|true|false|null|zero|an?\s+[\w'’-]+(?:\s+[\w'’-]+)?)\Z",
    re.IGNORECASE,
)
"""An object with a meaning that the following words cannot restrict."""
_TAKES = re.compile(
    r"(?:\s+(?:and|or)\s+(?:the\s+)?\x01+|\s*,\s*\x01+|\s+(?!and\b|or\b|then\b)[^\s,.;:!?\x02]+)*(?:\s*[,:]\s*(?:(?:in|into|to|as|for)\s+)?|\s+(?:in|into|to|as)\s+)(?:the\s+|an?\s+)?\x02",
    re.IGNORECASE,
)
"""The output that the same verb has: `Put the words in <text> into <:y>.`"""
_HAS_RESULT = re.compile(
    r"(?!(?:[^.;!?])*?\band\s+(?:then\s+)?(?:put|store|save|bind|set|count|say|give|write|tell)\s+(?!it\b|them\b|the (?:result|new|rest))[^.;!?]*\x02)[^.;!?]*\x02",
    re.IGNORECASE,
)
"""An output behind the reference that takes the result in place of a change."""
_LATER_RESULT = re.compile(
    r"[.;!?]\s+(?:then\s+)?(?:put|store|save|write|return)\s+(?:only\s+)?(?:it|them|the\s+(?:result|output|new|sum|total|product|difference|quotient|rest|\w+ed\b)\w*)\b[^.;!?]*\x02",
    re.IGNORECASE,
)
"""A further sentence that puts the result into an output: a text or a number, which cannot be changed, is then only read."""
_KEEPS = re.compile(
    r"(?:increase|increment|decrease|decrement|reset|set|toggle|mark|flag|tick|update|modify|change|overwrite|clear|empty|add"
    rf"|{_REPLACING})\b[^.;!?]*?(?:[.;!?]|\b(?:and|then)\b)",
    re.IGNORECASE,
)
"""A verb that means an attribute itself, if its clause ends before the output."""
_NEGATED = re.compile(
    r"(?:\b(?:not|never|without|nothing)|n['’]t|\bwhether\s+(?:to|(?:one|they|we|you|it|he|she|i)\s+\w+))\s+\Z",
    re.IGNORECASE,
)
_NO_RESULT = r"(?![^.;!?]*\x02)(?![^\x02]*\b(?:put|save|store|write)\s+(?:it|this|them|the\s+(?:text|message|answer|announcement))\b[^.;!?]*\x02)"
_PRINTS = re.compile(
    rf"{_CLAUSE}(?:pretty-)?(?!(?:print|log|display)s?\s*(?:[.,;)]|\Z|\b(?:or|and)\b))(?P<verb>print|log|display|echo|sleep|wait|beep)s?\b(?!\s*[-:])"
    r"|(?:,|\bwhile|\band)\s*(?P<doing>printing|logging|displaying|echoing)\b"
    r"|\b(?:use|using|call|calling)\s+[`'\"]?(?P<call>print)\b"
    rf"|{_CLAUSE}(?P<speak>announce|shout|say\s+aloud|tell\s+the\s+users?)s?\b(?!\s*[-:]){_NO_RESULT}"
    rf"|{_CLAUSE}(?P<show>show)s?\b[^.;:!?\x02]{{1,60}}?\bto\s+(?:the\s+users?|me|us|everyone)\b{_NO_RESULT}"
    r"|\b(?P<write>writ(?:e|es)|send|print|output|show|append|dump|save)\b[^.;:!?]{0,60}?\b(?:to|on|in|into|onto)\s+(?:the\s+|a\s+)?"
    r"(?:console|screen|terminal|stdout|stderr|standard output|log|file|disk)\b(?!\s+(?:in|into|to|as)\s+\x02)",
    re.IGNORECASE,
)
"""Verbs that only code can do."""
_ANY_PRINT = re.compile(
    r"\b(?:announce|shout|say|tell|print|log|display|echo|sleep|wait|beep|writ|send|output|show|append|dump|save|pretty)"
)


def find_asked_changes(block: NaturalBlock) -> Iterator[AskedChange]:
    """Yield the changes that a text asks for among its inputs; each reference once."""
    if not _ANY_VERB.search(block.lowered_words):
        return
    shift = block.end - 3 - len(block.words)
    text = _mark_requests(block.marked_words)
    written = {path.partition(".")[0] for path in block.writes}
    seen: set[str] = set()
    for reference in block.references:
        if reference.writes or reference.root in written or reference.path in seen:
            continue
        if (change := _find_change(text, reference, shift)) is not None:
            seen.add(reference.path)
            yield change


_UNCLEAR = re.compile(
    r"(?:\A\s*|(?<=[.!?])\s+(?=(?-i:[A-Z]))|(?<=;)\s+|\n\s*\n\s*|\n\s*[-*•]\s+)"
    rf"(?:(?!(?:app|rep|supp|re)ly\b)(?:{_ADVERB}|,\s*))*(?P<verb>[a-z]+)\b(?!\s*[:,])(?P<rest>(?:[^.;!?\n]|\n(?!\s*(?:\n|[-*•]\s))|[.](?=\d))*)(?![^.;!?]*\?)",
    re.IGNORECASE,
)
"""A sentence with its first word, perhaps a verb."""
_NO_IMPERATIVE = re.compile(r"[^s]s\Z|...ing\Z|\A(?:say|tell|begin)\Z")
_IN_PLACE = re.compile(r"\bin[\s-]place\b", re.IGNORECASE)
_IS_STATED = re.compile(r"\b(?:is|are|was|were|be|been|has|had|will|does|did|whether)\b")
_IS_NO_ACTION = re.compile(
    r"\b(?:in\s+mind|into\s+account|a\s+(?:close\s+)?look|the\s+gist|(?:the|your|more|some)\s+(?:focus|attention|emphasis|weight)|emphasis|out\s+of\s+it"
    r"|common\s+sense|(?:the|your)\s+(?:answer|reply|result|output|response))\b",
    re.IGNORECASE,
)


def find_unclear_requests(block: NaturalBlock) -> Iterator[AskedChange]:
    """Yield the inputs of sentences with a verb that is not listed here and a result that no output takes.

    Such a sentence may ask for a change: `Restock <items>.` Sentences that describe, ask or only judge are left out.
    """
    shift = block.end - 3 - len(block.words)
    text = block.marked_words
    for sentence in _UNCLEAR.finditer(text):
        verb, rest = sentence["verb"].lower(), sentence["rest"]
        later = text[sentence.end() : sentence.end() + _FAR]
        if "\x01" not in rest or "\x02" in rest:
            continue
        if (verb in _NO_ACTIONS or _NO_IMPERATIVE.search(verb)) and not _IN_PLACE.search(rest):
            continue
        if _IS_STATED.search(rest) or _IS_NO_ACTION.search(rest):
            continue
        if _LATER_RESULT.match(f". {later.lstrip(' .;!')}") or _names_result(verb, later):
            continue
        start, end = sentence.start("rest") + shift, sentence.end() + shift
        at = sentence.start("verb") + shift
        for reference in block.references:
            if start <= reference.start < end and not reference.writes:
                yield AskedChange(verb, at, at + len(verb), reference)


@functools.lru_cache(maxsize=1)
def _mark_requests(text: str) -> str:
    text = _MARKUP.sub(lambda found: " " * len(found[0]), text)
    return _WITHOUT_COMMA.sub(lambda found: found[0][:-1] + "\x03", text)


def _find_change(text: str, reference: Reference, shift: int) -> AskedChange | None:
    """Return the change of a reference that a text asks for; `shift` is the offset of the text in its source."""
    begin, end = reference.start - shift, reference.end - shift
    from_ = max(0, begin - 200)
    found = _match_request(text, from_, begin, end)
    if found is None or _NEGATED.search(text, max(0, found.start() - 40), found.start()):
        return None
    kind = next(name for name, value in found.groupdict().items() if value and name != "object")
    is_statement = kind in ("doing", "let", "state", "goes", "new", "held", "belongs")
    verb = "change" if is_statement else found[kind].lower()
    stop = end + _FAR
    clause = f"{verb} {text[end:stop]}".partition("\x02")[0]
    keeps = bool(reference.is_dotted and kind in ("act", "replace", "add") and _KEEPS.match(clause))
    has_result = _HAS_RESULT.match(text, end, stop)
    is_later = _LATER_RESULT.search(text, end, stop) or _names_result(verb, text[end:stop])
    is_computed = has_result and not keeps
    if kind in ("act", "replace", "doing", "remove", "within", "first", "verb") and is_computed:
        return None
    if (kind in _RESULTING or verb == "write") and (has_result or is_later):
        return None
    if (kind == "place" or verb in ("put", "write")) and _TAKES.match(text, end):
        return None
    may_compute = kind not in ("add", "put", "act") and not reference.is_dotted
    start, stop = found.span(kind)
    return AskedChange(
        *(verb, start + shift, stop + shift, reference),
        may_compute=may_compute or (verb == "add" and not keeps),
        has_result=bool(is_later or (has_result and kind in ("add", "put"))),
    )


_RESULTING = ("revise", "fix", "take", "minus", "treat", "apply", "create")


_FAR = 5000
"""The number of letters behind a request that may use its result, so that long texts take no longer for each."""


def _names_result(verb: str, text: str) -> bool:
    """Return whether a later sentence puts the result of a verb into an output: the tags of `tag`."""
    made = (
        "entry|row|record|item|line|element"
        if verb in ("create", "make", "open", "start")
        else "version"
    )
    noun = rf"\bthe\s+(?:\w+\s+){{0,2}}(?:{re.escape(verb[:5])}\w*|{made})\b"
    return re.search(rf"{noun}[^.;!?]*\x02", text) is not None


def _match_request(text: str, from_: int, begin: int, end: int) -> re.Match[str] | None:
    """Find the verb that changes the value of a reference, by its two offsets."""
    if (found := _STATED.match(text, begin)) is not None:
        is_judged = _ASKS.search(text, from_, begin) or _TAKES.match(text, found.end())
        return None if is_judged else found
    is_place = _PLACE_FIRST.search(text, max(from_, begin - 60), begin)
    if is_place and (found := _THEN_VERB.match(text, begin)) is not None:
        return found
    if not _ANY_VERB_OF_TEXT.search(text, from_, begin):
        return None
    if (found := _FROM.search(text, from_, begin)) is not None:
        return found
    if (found := _INTO.search(text, from_, begin)) is not None:
        if found["belongs"] and not _PUT_THERE.match(text, end):
            return None
        if found["held"] and _IF_NOT.match(text, end):
            return None
        is_statement = found["goes"] or found["new"]
        return None if is_statement and _ASKS.search(text, from_, found.start()) else found
    if (found := _PLACED.search(text, from_, begin)) is not None:
        is_complete = _SIMPLE.match(found["object"])
        if is_complete or not _HAS_RESULT.match(text, end):
            return found
    found = _CONTINUES.search(text, from_, begin)
    if found and _CONTINUED[(found["verb"] or "ensure").lower()].match(text, end):
        return found
    if (found := _DIRECT.search(text, from_, begin)) is not None:
        verb = (found["act"] or found["replace"] or found["fix"] or "").lower()
        is_removed = re.fullmatch(rf"{_REMOVING}|replace|swap|exchange", verb)
        is_object = is_removed and _OTHER_TARGET.match(text, end)
        is_other = (found["let"] and not _GROWS.match(text, begin)) or (
            found["revise"] and re.match(r"\s+into\b", text[end : end + 20])
        )
        if (found["treat"] or "").lower() in ("tag", "label") and not _WITH_INPUT.match(text, end):
            return None
        return None if is_object or is_other else found
    return None


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
_NO_ACTIONS = (_JUDGES | _STARTS | _JUMPS | _SMALL_WORDS | _BEFORE_VERBS | _STORES) - _list_words(
    "put set store save give assign"
)
_NO_ACTIONS |= _list_words(
    "some several most many few other such my your our his her here there however because since although though unless until within without per via"
    " regarding concerning according based note assume imagine suppose pretend treat use using remember recall go understand work think take act be keep translate rephrase create"
    " make draft compose invent generate describe turn convert format round express ask greet thank welcome address congratulate invite remind"
    " warn explain reply respond follow mention ignore obey respect prefer match evaluate review analyze analyse inspect study scan weigh"
    " search test verify validate ensure solve play start base help avoid stay repeat call let have get imitate quote cite"
    " refer contrast paraphrase outline list name teach predict forecast simulate visualize picture apply do run execute watch listen"
    " never not tag label rank group cluster combine average split plan prioritize prioritise proofread skim skip interpret recommend select base role pay"
    " focus disregard number pair grade debate discuss critique apologize apologise confirm spell offer propose order wish sum brainstorm elaborate cross"
    " double browse map bear draw work figure concentrate derive deduce reason argue speculate summarise suggest advise consult tokenize segment"
    " join total aggregate report retell recite rely stick limit restrict point trust believe doubt expect hope want try question wonder"
)
"""Verbs of sentences that change nothing, or that prepare the result of a later sentence."""
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
_CHANGES = frozenset(f"{_ADDING}|{_ACTING}|swap|replace|fix|trim|tidy".split("|"))
_AUXILIARIES = _list_words("have be do")
"""Known words, except at the start of a request."""
_KNOWN = (
    _SMALL_WORDS | _STORES | _JUDGES | _JUMPS | _STARTS | _BEFORE_VERBS | {_INPUT, _OUTPUT, ")"}
)
_PRONOUNS = _list_words("it them those these everything")
_OBJECTS = _PRONOUNS | _list_words("each all every any the its their") | {_INPUT}
_STATES = re.compile(
    r"\b(?:next\s+(?:[\w-]+\s+)?(?:of|from|in)|so\s+(?:that\s+)?(?:it|they|the|all|each|none?)"
    r"|in place|in order|itself|themselves|(?:by|to) you|leaves|afterwards?|no longer|now|last|left|gone|go|goes|becomes?|remain\w*|stays?|keep|kept"
    r"|first(?=\s*(?:and|[,;.]|\Z))|(?:at|to) the (?:end|start|front|back|top|bottom))\b",
    re.IGNORECASE,
)
"""Words for a new state of an input."""
_MAKES_RESULT = re.compile(
    r"[^.;:!?]{0,400}(?:[.;]\s+|,?\s+and\s+)(?:then\s+)?(?:store|save|put|write|bind|return)\s+(?:only\s+)?the\s+(?:result|output)\b[^.;!?]*\x02"
)
"""A request whose result is put into an output."""


_BLANKS, _LINES = re.compile(r"[ \t]{2,}"), re.compile(r"\n\s*\n\s*")


def only_judges(block: NaturalBlock) -> bool:
    """Return whether each sentence is of a form that only puts a judgement of the inputs into outputs.

    A sentence of another form may ask for a change, in words that are not listed here.
    """
    text = block.replace_references(lambda each: _OUTPUT if each.writes else _INPUT)
    text = _LINES.sub("\n\n", _BLANKS.sub(" ", text))
    if _STATES.search(text):
        return False
    text = _MAKES_RESULT.sub("", text.lower()).replace("as well as", "and")
    sentences = [words for words in map(_WORD.findall, _SENTENCE_END.split(text)) if words]
    return all(
        _is_judgement(words) and _has_one_result(words) and not _may_ask_for_more(words)
        for words in sentences
    )


_ACTS_ON_INPUT = re.compile(
    r"\b(?:break|continue|see|consider)(?: (?:the|each|every|all|both|of)){0,3} \x01(?! [\x02(,]|\Z| for\b)|\breturn \x01 (?:to|in|as)\b|\b(?:must|should|shall) be\b| away\b| each\Z"
)
"""Words that are jumps or judgements elsewhere, with an input as their object: `Break <rows> into two`."""
_STATEMENTS = _list_words("is are has have may must should shall will can follows")


def _may_ask_for_more(words: list[str]) -> bool:
    is_act = words[-1] != "?" and _ACTS_ON_INPUT.search(" ".join(words))
    return bool(is_act) or _gives_to_inputs(words) or _states_more(words)


def _states_more(words: list[str]) -> bool:
    """Return whether a part of a request, behind its first comma, is a statement, and so perhaps a request."""
    if words[0] not in _STARTS or _OUTPUT not in words:
        return False
    parts = _split(words[: words.index(_OUTPUT)])[1:]
    return any(
        part[0] not in _STORES | _JUDGES | _JUMPS | _STARTS | _CONDITIONS
        and not _STATEMENTS.isdisjoint(part)
        for part in parts
    )


_OF_EACH = _list_words("each every all both")
_INTO_INPUTS = re.compile(
    r"\b(?:in|into|under|to|as|at|by|with|on)(?: (?:the|a|an|its|their|own|new)){0,3} (?:fields?|keys?|attributes?|entry|entries|columns?|property|properties|slots?|cells?)\b"
    r"|\b(?:in|into|under|as|by|with|on) (?:its|their)\b|\b(?:to|with|on|under|behind|in) (?:it|them|each)\Z"
)
"""A place in the inputs."""
_ONTO_INPUT = re.compile(
    r"\x01(?: [\w-]+){0,4} (?:to|into|onto) \x01|\bonto\b|\bwith an? |\boff \x01|\A(?:see|look|check) that\b(?! \x02)|\Acheck (?:off|.*(?: as| off\b))"
)
_AFTERWARDS = re.compile(r"(?:with|by) each\b|which (?:is|are) to\b")
_WITH_EACH = re.compile(r"\bwith (?:each|all|every|both|them|these|those|it|the (?:rest|others))\b")
_IN_INPUT = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\boccurs )(?<!\bappears )(?<!\bcontained )"
    r"\b(?:in|as|under|at|on|onto)(?: (?:the|its|their|a|an|each of|all of)){0,2} \x01"
)
"""An input that may be the place of a result."""


def _gives_to_inputs(words: list[str]) -> bool:
    """Return whether a request without an output may put its results into the inputs, each into one."""
    if words[-1] == "?":
        return False
    if _WITH_EACH.search(" ".join(words)):
        return True
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
        is_place = words.count(_INPUT) > 1 and _IN_INPUT.search(text)
        if is_place and part[0] not in _CONDITIONS - {"from", "as", "for"}:
            return True
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
    found = _PRINTS.search(_mark_requests(block.marked_words))
    return next(filter(None, found.groups())).lower() if found else None
