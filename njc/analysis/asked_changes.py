"""Changes and prints that a text asks for.

    Append 3 to <row>, and put its length into <:n: int>.       append, <row>
    Increase the price of each of <items>.                      increase, <items>
    Sort <names> into <:sorted: list[str]>.                     nothing: the result has an output
    Print <total>.                                              print

Not detected: verbs in unusual places, other words and languages. Proof comes from the inputs' types: words decide
only if a type is the author's promise. `judgements` works the other way round: it knows sentence forms that
change nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from njc.analysis.words import compile_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.prompt_references import Reference
from njrt.records import record


@record
class AskedChange:
    """A verb that asks to change a reference's value; the offsets are in the source text."""

    verb: str
    start: int
    end: int
    reference: Reference
    may_compute: bool = False
    """Whether the words may instead mean a computation, if the value is a number or a text."""
    has_result: bool = False
    """Whether an output after it, or a later clause, takes the result."""
    is_taken: bool = False
    """Whether the next clause (`and return them`), or an output that is a collection, takes a collection's result."""


# In the patterns, `\x01+` is an input and `\x02+` an output, as NaturalBlock.marked_words replaces references;
# `\x03` is a missing comma before a request.

_ADVERB = (
    r"(?:now|just|always|next|simply|again|immediately|[a-z]+ly|do|please|then|also|first|finally|you|should|must|shall|will|can|could|would|may|let['’]s|have\s+to|need\s+to|are\s+to"
    r"|(?:make|be)\s+sure\s+(?:to|that\s+you)|remember\s+to|(?:i|we)\s+(?:want|need|would\s+like|ask)\s+you\s+to|(?:your|the)\s+(?:[a-z]+\s+)?(?:task|job|goal|aim|step|action)\s+is\s+to|it\s+is\s+(?:important|necessary|your\s+(?:task|job))\s+to)\s+"
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
    r"(?:(?:the|each|every|all|any|end|start|front|back|top|bottom|be(?:ginning)|head|tail|list|dict|set|fields?|attributes?"
    r"|key|entry|entries|place|slot|cell|position|column|row|items?|elements?|values?|of|in|its|one|both|first|second|third"
    r"|last|next|\w+est)\s+){0,5}"
)
ADDING = "append|push|insert|prepend|attach|add"
_ADDED = "add|append|insert|push|mov|stor|sav|record|enter|attach|plac|copi"
_STORING = "put|save|store|record|enter|register|move|copy|inject|merge|stack|enqueue|queue|unshift|credit|charge|deposit|include|concatenate|fold|weave|blend|mix|incorporate|integrate"
_NO_PLACING = r"(?!\s+(?:(?:the|your|our|more|some)\s+)?(?:focus|attention|emphasis|weight|trust|stress|eyes?|gaze|on|over|up|together)\b)"
_GATHERING = r"count|sum|add\s+up|collect|gather|accumulate"
ACTING = (
    "increase|increment|decrease|decrement|reset|update|modify|mutate|overwrite|mark|flag|tick|clear|empty|shuffle|truncate"
    "|toggle|rename|edit|change|set|sort|reverse|remove|delete|drop|discard|pop|extend"
)
_RIDDING = r"throw\s+(?:away|out)|get\s+rid\s+of|do\s+away\s+with|dispose\s+of|eliminate"
_EXCLUDING = rf"{_RIDDING}|exclude|strike|ban|expel|kick|(?:keep|leave|retain)\s+only"
_SUBTRACTING = "subtract|deduct|withdraw|debit"
_REPLACING = rf"{_RIDDING}|replace|swap|exchange|erase|wipe|purge|zero|bump|initiali[sz]e"
_REVISING = (
    "make|turn|fill|rotate|double|halve|triple|invert|flip|shift|trim|crop|adjust|amend|rewrite|correct|fix|repair|clean"
    "|tidy|normali[sz]e|advance|adapt|refill|expand|reduce|shrink|enlarge|multiply|divide|inc|dec|arrange|filter"
    "|capitali[sz]e|uppercase|lowercase|deduplicate|dedupe|prune|lower|take|cut|strip"
    "|annotate|enrich|supplement|anonymi[sz]e|redact|censor|saniti[sz]e|populate|activate|deactivate|enable|disable|archive"
    "|nullify|unset|revert|restore|rework|patch"
)
_TREATING = "tag|label|stamp|prefix|suffix|pad|wrap|mask|escape|indent|cap|limit|improve|polish|complete|promote|demote|approve|cancel|close|lock|unlock|sign"
"""Verbs that change a value if their object is each of its parts, or all; many are also nouns."""
CHANGING_VERBS = (
    f"{ADDING}|{_STORING}|{ACTING}|{_REPLACING}|{_REVISING}|{_TREATING}|{_SUBTRACTING}|correct"
)
_EACH_OF = r"(?:each|every|all|both)(?:\s+(?:one|single|of|the|element|item|row|entry)){0,4}\s+"
_ADDITIONS = "discount|change|fix|correction|tax|rate|increase|reduction|patch|update|tag|label|raise|bonus|fee|edit|percentage"
_REMOVING = "remove|delete|drop|discard|pop|erase|strip|cut|take|wipe"
_DOING = (
    "increas|increment|decreas|decrement|resett|updat|modify|mutat|overwrit|mark|flagg|tick|clear|empty|truncat|toggl|renam"
    "|edit|chang|sett|remov|delet|dropp|discard|popp|extend|replac|swapp|empti|modifi"
)
_MARKUP = compile_words(r"[`*_\"'(]+(?=\x01)|(?<=\x01)[`*_\"')]+|(?<=[a-z])\*+|\*+(?=[a-z])")
"""Quotes and emphasis around references and words."""
_ANY_VERB = compile_words(
    r"\b(?!decid|given)(?:go|gain|get|lose|become|receive|throw|eliminate|do\s+away|dispose|exclude|strike|ban|expel|kick|cross|keep|leave|retain"
    rf"|{_SUBTRACTING}|ensure|raise|order|bring|bind|give|new|in.place|{_ADDED}|{_GATHERING}|{ADDING}|{_STORING}|{ACTING}"
    rf"|{_REPLACING}|{_REVISING}|{_DOING}|write|place|assign|note|file|let|have|log|belongs|see\s+to|{_TREATING}|create|open"
    r"|start|apply|applies|stay|remain|remember|collaps|com(?:e|ing)|after|now|pull|fish|toss|weed|sift|one\s+(?:more|less)"
    r"|now\s+on|afterward|no\s+longer)|[-+*/%|&^:]=|\+\+|\]\s*=",
    0,
)
"""In lower case, or an assignment."""
_INTO = compile_words(
    rf"\b(?P<add>{ADDING})(?:s|es)?\b{_NO_PLACING}{_INSIDE}\b(?:to|onto|into|in|(?<!based )on)\s+{_TAIL}\Z"
    rf"|{_CLAUSE}(?:(?P<put>{_STORING})(?:s|es)?\b{_NO_PLACING}{_PART}{{0,60}}?\b(?:into|onto|to)\s+(?:the\s+)?"
    rf"|(?P<gather>{_GATHERING})\b{_PART}{{0,60}}?\binto\s+(?:the\s+)?"
    r"|(?P<create>create|make|open|start)\s+an?\s+(?:new\s+|empty\s+)?(?:entry|row|record|item|element|key|slot|line|field"
    rf"|column)\b{_INSIDE}\b(?:in|to|at|on|under)\s+{_TAIL}|(?P<apply>appl(?:y|ies))\s+(?:(?:the\s+|an?\s+)?\x01+|(?:(?:the"
    rf"|an?|this)\s+)?(?:\w+\s+)?(?:{_ADDITIONS})s?\b{_INSIDE})\s+to\s+{_TAIL}"
    r"|(?P<held>ensure|make\s+sure|see\s+to\s+it|have|let)\s+(?:that\s+)?(?:the\s+)?(?:\x01+|\"[^\"]*\")\s+(?:is|are|be"
    rf"|gets?|goes)\s+(?:also\s+|now\s+)?(?:in|on|part\s+of|among)\s+{_TAIL}"
    r"|(?P<keep>keep|remember|memori[sz]e|hold)\s+(?:the\s+)?(?:\x01+|it|them)\s+in\s+(?:the\s+)?"
    r"|(?P<note>note(?:\s+down)?)\s+on\s+(?:the\s+)?|(?P<count>one\s+(?:more|less)\s+(?:for|to|in|on|at))\s+(?:the\s+)?"
    rf"|(?P<mark>mark|flag|tick|tag|label)\s+as\s+(?!(?:in|follows)\b)[\w-]+\s{_INSIDE}\b(?:in|of|among|within)\s+{_TAIL})\Z"
    r"|\b(?P<goes>go(?:es)?|(?:is|are|gets?)\s+(?:add|append|insert|push|mov)ed|(?:must|should|shall|has\s+to"
    rf"|have\s+to)\s+be\s+(?:(?:{_ADDED})ed|put))\s+(?:to|into|onto|in|on)\s+{_TAIL}\Z"
    rf"|\b(?P<stays>(?:nothing|no\s+[\w-]+|none)\b{_INSIDE}\b(?:may|must|should|shall|can|is\s+to|are\s+to)\s+(?:stay|remain"
    rf"|be(?:\s+left)?))\s+in\s+{_TAIL}\Z|(?P<belongs>\x01+\s+belongs)\s+(?:in|into|to|on|under)\s+{_TAIL}\Z"
    r"|\b(?P<new>as\s+(?:the|its|their)\s+new|make\s+\x01+\s+(?:the|its|their)(?:\s+new)?)\s+\Z"
)
"""Verbs that put something into the value of the reference after them."""
_PLACED = compile_words(
    rf"{_CLAUSE}(?P<place>{ADDING}|{_STORING}|write|place|assign|note|file|log)(?:s|es)?{_NO_PLACING}\s+(?!(?:into|onto|to|in"
    rf"|on)\b)(?P<object>{_INSIDE})\s(?:into|onto|to|in|(?<!based )on|at|as|under|behind|before|after)\s+{_TAIL}\Z"
)
"""The same, for other verbs and places, which more often restrict the object's meaning."""
_DIRECT = compile_words(
    rf"{_CLAUSE}(?:(?:(?P<act>{ACTING})\s+(?:(?:off|up|out|down|over)\s+)?"
    rf"|(?P<replace>{_REPLACING})\s+(?:out\s+)?){_AND_INPUT}(?:{_DETERMINER}|{_OF})|(?P<revise>make|turn)\s+(?:(?:the|all"
    rf"|each|every|both|of)\s+){{0,3}}|(?P<fix>(?!make|turn|take|cut)(?:{_REVISING}))\s+(?:(?:off|up|out|in"
    rf"|down)\s+)?(?:{_DETERMINER}|{_OF})"
    rf"|(?P<treat>{_TREATING})\s+(?:in\s+|out\s+)?{_EACH_OF}(?:{_DETERMINER})|(?P<let>let)\s+(?:the\s+)?)\Z|,\s*(?:then\s+"
    rf"|also\s+)?(?P<doing>(?:{_DOING})ing)\s+(?:{_DETERMINER}|{_OF})\Z"
)
"""Verbs that change the value of the reference after them, or a part of it."""
_FROM = compile_words(
    rf"{_CLAUSE}(?:(?P<pop>pop)\b{_INSIDE}\b(?:from|off|out\s+of|of|in)\s+|(?P<off>{_REMOVING}|cross"
    rf"|check)\b{_INSIDE}\boff\s+(?:from\s+)?|(?P<remove>remove|delete|drop|discard|erase|{_EXCLUDING})\b{_INSIDE}\b(?:from"
    rf"|out\s+of|in)\s+|(?P<take>take|strip|cut|pull|fish|throw|toss|kick|cross)\b{_INSIDE}\bout\s+(?:of|in|from)\s+"
    rf"|(?P<minus>{_SUBTRACTING}|(?:filter|weed|sift)\s+out)\b{_INSIDE}\bfrom\s+|(?P<within>replace|swap|exchange|merge"
    rf"|collapse)\b{_INSIDE}\b(?:in|within|throughout)\s+){_TAIL}\Z"
)
"""Verbs that take something out of the value of the reference after them."""
_PLACE_FIRST = compile_words(rf"(?:\A\s*|[.;:,!?(]\s*|\b(?:and|then)\s+)(?:in|into|onto|to|from|off)\s+{_TAIL}\Z")  # fmt: skip
_THEN_VERB = compile_words(
    rf"\x01+,?\s+(?:{_ADVERB}){{0,2}}(?P<first>{ADDING}|{_STORING}|{ACTING}|{_REPLACING}|take\s+(?:out|off|away)|(?!make|turn"
    rf"|take)(?:{_REVISING}))\b(?!\s+in\b)"
)
"""A place before its verb: `Into <row>, append <n>.`"""
_OTHER_TARGET = re.compile(r"[^.;:,!?\x02]{0,60}?\b(?:from|off|out\s+of)\b|[^.;:,!?\x02]{0,60}?\bin\s+[^.;:,!?\x02]{0,40}\x01")  # fmt: skip
"""After the object of a verb that removes or replaces: the value that the object is taken from."""
_CHANGED_STEMS = rf"{_DOING}|sort|shuffl|revers|doubl|halv|fill"
_STATED = compile_words(
    r"(?P<state>\x01+\s*(?:(?:[-+*/%|&^]|//|\*\*)=|\+\+)|\x01+\[[^\]\n]{0,40}\]\s*=(?!=)|\x01+\s+(?:(?:goes|grows?|shrinks?|rises?|falls?|drops?|(?:in|de)creases?)\s+(?:up|down|by|to)|now\s+(?:says|reads|shows|holds|contains)|(?:gets|receives)(?=\s+(?:[\x01\d\"]|an?\b|one\b))|loses|becomes?|gains|in[\s-]place)\b"
    r"|\x01+\s+(?:(?:moves?|goes?|comes?)\s+(?:up|down|to\s+the\s+(?:end|front|start|top|bottom|back))|(?:must|should|may|shall|can|do(?:es)?)\s+no\s+longer\s+(?:contain|hold|include|have)"
    r"|(?:is|are)\s[^.;:,!?\x02]{1,40}?\s(?P<later>afterwards?|from\s+(?:now|then)\s+on))\b|(?:(?<=\bfrom now on )|(?<=\bfrom now on, )|(?<=\bafterwards )|(?<=\bafterwards, )|(?<=\bafter this, )|(?<=\bafter that, ))\x01+\s+(?:is|are|has|have)\b"
    r"|\x01+\s*:=|(?<=\bnew )\x01+\s+is\s+[\x01\d\"]|\x01+\s+(?:is|are)\s+(?:(?:in|de)cre(?:as|ment)ed|reset|emptied"
    r"|set\s+to)\b|\x01+\s+(?:(?:that|which|who)\s[^.;:,!?\x02]{1,60}?\s)?(?:must|should|shall|needs?\s+to|ha(?:s|ve)\s+to"
    r"|(?:is|are)\s+to)\s+(?:(?:now|then|also|always|finally)\s+)?(?:be|get|become)\s+(?:[a-z]+ly\s+)?"
    rf"(?:(?:{_CHANGED_STEMS}|(?:upper|lower)-?cas)ed|set|reset|overwritten|empty)\b)"
)
"""A change as a statement: `<row> must be emptied`, `<total> += 1`."""
_CHANGED = rf"(?:{_CHANGED_STEMS})ed"
_CONTINUED = {
    verb: compile_words(rf"\s+(?:{words})\b")
    for verb, words in {
        "order": "by",
        "raise": "by|to",
        "bring": "into",
        "bind": "to",
        "put": r"in(?:to)?\s+(?:[\w-]+\s+){0,3}order",
        "move": r"to\s+the\s+(?:end|front|start|top|bottom|back)",
        "give": r"an?\s+(?:new|extra|additional|further)|another|one\s+more|the\s+(?:new\s+)?value",
        "assign": r"the\s+(?:new\s+)?value",
        "have": rf"{_CHANGED}|(?:reflect|show|say|read|hold|contain|match|be|become|start|end|point)",
        "get": rf"{_CHANGED}|ready|clean|in(?:to)?\s+shape",
        "let": rf"be\b(?=\s+(?:now\s+)?(?:[\x01\d\"]|one\s+(?:more|less)\b|(?:an?\s+)?empty\b|{_CHANGED}\b))",
        "ensure": "is|are|has|have|ends?|starts?|contains?|holds?",
    }.items()
}
"""Verbs that ask for a change if these words follow the reference."""
_CONTINUES = compile_words(
    rf"{_CLAUSE}(?:(?P<verb>{'|'.join(_CONTINUED)})(?:\s+that)?|(?P<sure>(?:make\s+sure"
    rf"|see\s+to\s+it)(?:\s+that)?))\s+(?:{_DETERMINER}|{_OF})\Z"
)
_WITHOUT_COMMA = compile_words(
    r"(?:\b(?:if|when|whenever|unless|once)\b[^.;:,!?]{1,80}?\b(?:is|are|was|were|has|have|contains?"
    r"|exceeds?)\s[^.;:,!?\s][^.;:,!?]{0,40}?|\bfor\s+(?:each|every"
    r"|all)\b[^.;:,!?]{1,80}?\x01)(?<!\bto)(?<!\bnot)(?<!\bthe)(?<!\ba)(?<!\ban)(?<!\bno)(?<!\bany)(?<!\bof)(?<!\bis)(?<!\bare)(?<!\bbe)"
    rf"\s(?=(?:{ADDING}|{_STORING}|{ACTING}|{_REPLACING}|{_REVISING}|{_EXCLUDING}|{'|'.join(_CONTINUED)}|{_SUBTRACTING}|filter|write|assign|print|log|display)\b)"
)
"""A condition or a loop before a request, without a comma."""
_ENDS = re.compile(r"[;!?]|\x02+|[.:](?!\d)")
"""The characters that no verb and its object contain, as in `_PART`."""
_ASKS = compile_words(
    r"\b(?:whether|why|how|that|which|what|who|where|because|imagine|assum(?:e|ing)|suppos(?:e|ing)|pretend|sa(?:ys?|id)"
    r"|(?:if|when|unless)\b(?![^.;:,!?]*\s(?:is|are|was|were|has|have|contains?|exceeds?)\s))\b[^.;:,!?]*\Z"
)
"""Words that make a statement part of a question or a condition."""
_PUT_THERE = compile_words(r"[^\x02]{0,20}?\b(?:put|add|place|file|store|move|append|insert)\s+(?:it|them)\s+(?:there|in)\b")  # fmt: skip
_IF_NOT = compile_words(r"[^\x02]*\b(?:if\s+(?:so|not|it|they)|otherwise|else)\b")
"""Words after a condition to be checked."""
_WITH_INPUT = compile_words(r"\s+(?:(?:with|as|by)\s+(?:the\s+)?[\x01\"]|with\s+(?:its|their)\b)")
_GROWS = compile_words(r"\x01+\s+(?:grow|shrink|become|increase|decrease|rise|fall|lose|gain|forget)\b")  # fmt: skip
_SIMPLE = compile_words(
    r"(?:(?:the\s+)?\x01+|\"[^\"]*\"|[\d.]+|it|them|this|these|that|one|two|three|nothing|none|true|false|null|zero"
    r"|an?\s+[\w'’-]+(?:\s+[\w'’-]+)?)\Z"
)
"""An object with a meaning that the following words cannot restrict."""
_TAKES = compile_words(
    r"(?:\s+(?:and|or)\s+(?:the\s+)?\x01+|\s*,\s*\x01+|\s+(?!and\b|or\b|then\b)[^\s,.;:!?\x02]+)*(?:\s*[,:]\s*(?:(?:in|into"
    r"|to|as|for)\s+)?|\s+(?:in|into|to|as)\s+)(?:the\s+|an?\s+)?\x02"
)
"""The output of the same verb: `Put the words in <text> into <:y>.`"""
_HAS_RESULT = compile_words(
    r"(?!(?:[^.;!?])*?\band\s+(?:then\s+)?(?:put|store|save|bind|set|count|say|give|write|tell|return)\s+(?!it\b|them\b"
    r"|the (?:result|new|rest))[^.;!?]*\x02)[^.;!?]*\x02"
)
"""An output after the reference that takes the result instead of a change."""
_THEM = r"\b(?:it|them|these|this|those|all|everything|the\s+\w+ed(?!\s+(?:list|text|version)))\b"
_RESULT = (
    rf"(?:{_THEM}|the\s+(?:\w+ed\b|unique\b|new\s+(?:ones|list|text|version|order|rows|items|entries)\b|result|output|sum|product|difference|quotient|rest|others"
    r"|texts?|list|answer|sentence|message|letter|story|version|words?\b|lines?\b|names))"
)
TAKEN = compile_words(
    rf"\b(?:(?:put|store|save|write|bind|set|give|join|collect|copy|count)\s+(?:only\s+|all\s+(?:of\s+)?)?{_RESULT}[^.;!?]*\x02"
    rf"|(?:return|print|show|display|output)\s+(?:only\s+)?(?:{_RESULT}|what\s+(?:is\s+left|remains))|call\s+(?:it|them|the\s+result)\s+\x02"
    r"|(?:put|store|save|write)\s+the\s+(?:mean|average|median|sum|product)\s+of\s+(?:the\s+(?:rest|others)|what)\b[^.;!?]*\x02"
    r"|the\s+(?:\w+\s+)?(?:text|list|line|sentence|result|version|rest)\s+(?:is|goes\s+(?:in)?to)\s+\x02)"
    r"|\x02\s+is\s+the\s+(?:\w+\s+)?(?:result|text|list|version)\b"
)
"""An output, a return or a print that takes an earlier request's result."""
_REMAINDER = compile_words(r"\b(?:put|store|save|write|copy)\s+(?:only\s+)?what(?:ever)?\s+(?:is\s+left|remains)\b[^.;!?]*\x02")  # fmt: skip
_REST = compile_words(
    rf"{ADDING}|{_REMOVING}|{_RIDDING}|exclude|strike|filter|weed|sift|pull|clear|empty"
)
"""Verbs with two objects: a later `them` may be the removed ones."""
_NEXT = compile_words(r"[^.;:!?\x01\x02]*(?:[.;:!]\s+(?:then\s+)?)?\Z")
_IN_PLACE = compile_words(r"[^\x02]*\bin[ -]place\b")
_ADDS_TO = compile_words(r"\b(?:(?:in)?to|on(?:to)?)\s")
_ARRANGES = compile_words(r"sort|shuffle|reverse|rotate|filter|arrange|merge|collapse|dedup")
"""Verbs that make a new collection from a collection, if there is an output for it."""
COLLECTION = re.compile(r"\s*(?:(?:\w+\.)?(?:Sequence|Collection|Iterable)|list|tuple|set|frozenset)\b")  # fmt: skip
_KEEPS = compile_words(
    r"(?:increase|increment|decrease|decrement|reset|set|toggle|mark|flag|tick|update|modify|change|overwrite|clear|empty|add"
    rf"|{_REPLACING})\b[^.;!?]*?(?:[.;!?]|\b(?:and|then)\b)"
)
"""A verb that means the attribute itself, if its clause ends before the output."""
_NEGATED = compile_words(r"(?:\b(?:not|never|without|nothing)|n['’]t|\bwhether\s+(?:to|(?:one|they|we|you|it|he|she|i)\s+\w+)(?:\s+\w+(?:,\s*\w+)*,?(?=\s+\Z))?)\s+\Z")  # fmt: skip
_NO_RESULT = r"(?![^.;!?]*\x02)(?![^\x02]*\b(?:put|save|store|write)\s+(?:it|this|them|the\s+(?:text|message|answer|announcement))\b[^.;!?]*\x02)"
_PRINTS = compile_words(
    rf"{_CLAUSE}(?:pretty-)?(?!(?:print|log|display)s?\s*(?:[.,;)]|\Z|\b(?:or|and)\b))(?P<verb>print|log|display|echo|sleep|wait|beep)s?\b(?!\s*[-:])"
    r"|(?:,|\bwhile|\band)\s*(?P<doing>printing|logging|displaying|echoing)\b|\b(?:use|using|call|calling)\s+[`'\"]?(?P<call>print)\b"
    rf"|{_CLAUSE}(?P<speak>announce|shout|say\s+aloud|tell\s+the\s+users?)s?\b(?!\s*[-:]){_NO_RESULT}"
    rf"|{_CLAUSE}(?P<show>show)s?\b[^.;:!?\x02]{{1,60}}?\bto\s+(?:the\s+users?|me|us|everyone)\b{_NO_RESULT}"
    r"|\b(?P<write>writ(?:e|es)|send|print|output|show|append|dump|save)\b[^.;:!?]{0,60}?\b(?:to|on|in|into"
    r"|onto)\s+(?:the\s+|a\s+)?(?:console|screen|terminal|stdout|stderr|standard output|log|file|disk)\b(?!\s+(?:in|into|to"
    r"|as)\s+\x02)"
)
"""Verbs that only code can do."""
_ANY_PRINT = compile_words(r"\b(?:announce|shout|say|tell|print|log|display|echo|sleep|wait|beep|writ|send|output|show|append|dump|save|pretty)", 0)  # fmt: skip


def find_asked_changes(block: NaturalBlock) -> Iterator[AskedChange]:
    """Yield the changes to inputs that a text asks for, each reference once."""
    if not _ANY_VERB.search(block.lowered_words):
        return
    shift = block.end - 3 - len(block.words)
    text = _mark_requests(block.marked_words)
    written = {path.partition(".")[0] for path in block.writes}
    outputs = (each for each in block.references if each.writes)
    made = max((each.end for each in outputs if COLLECTION.match(each.type or "")), default=0)
    seen: set[str] = set()
    for reference in block.references:
        if reference.writes or reference.root in written or reference.path in seen:
            continue
        if (change := _find_change(text, reference, shift, made)) is not None:
            seen.add(reference.path)
            yield change


@functools.lru_cache(maxsize=1)
def _mark_requests(text: str) -> str:
    text = _MARKUP.sub(lambda found: " " * len(found[0]), text)
    return _WITHOUT_COMMA.sub(lambda found: found[0][:-1] + "\x03", text)


def _find_change(text: str, reference: Reference, shift: int, made: int) -> AskedChange | None:
    """Return a reference's change; `shift` is the text's offset, `made` the end of the last new collection."""
    begin, end = reference.start - shift, reference.end - shift
    found = _match_request(text, _find_start(text, begin), begin, end)
    if found is None or _NEGATED.search(text, max(0, found.start() - 60), found.start()):
        return None
    kind = next(
        name
        for name, value in found.groupdict().items()
        if value and name not in ("object", "later")
    )
    verb = found[kind].lower()
    if kind in _STATEMENTS or verb in ("have", "get", "let"):
        verb = "change"
    stop = end + _FAR
    clause = f"{verb} {text[end:stop]}".partition("\x02")[0]
    keeps = bool(reference.is_dotted and kind in ("act", "replace", "add") and _KEEPS.match(clause))
    is_new = not _IN_PLACE.match(text, end, stop)
    has_result = is_new and _HAS_RESULT.match(text, end, stop)
    taken = TAKEN.search(text, end, stop) or _REMAINDER.search(text, end, stop)
    is_named = names_result(verb, text[end:stop])
    is_passed = (
        taken
        and _NEXT.match(text[end : taken.start()])
        and not (_REST.match(verb) and re.search(rf"{_THEM}|the sum(?! of)", taken[0]))
    )
    is_computed = has_result and not keeps
    if kind in ("act", "replace", "doing", "remove", "within", "first", "verb") and is_computed:
        return None
    if (kind in _RESULTING or verb == "write") and (has_result or taken or is_named):
        return None
    is_sum = is_named or text.startswith(" together", end)
    if is_sum and verb == "add" and not _ADDS_TO.search(text, found.start(), begin):
        return None
    if (kind == "place" or verb in ("put", "write")) and _TAKES.match(text, end):
        return None
    may_compute = kind not in ("add", "put", "act") and not reference.is_dotted
    is_collected = made > end + shift and _ARRANGES.match(verb)
    start, stop = found.span(kind)
    return AskedChange(
        *(verb, start + shift, stop + shift, reference),
        may_compute=may_compute or (verb == "add" and not keeps),
        has_result=bool(taken or is_named or (has_result and kind in ("add", "put"))),
        is_taken=bool(is_new and (is_passed or is_collected)),
    )


def _find_start(text: str, begin: int) -> int:
    """Return the start of the search for a verb before an offset: the last output, or the end of a sentence."""
    first = max(0, begin - _NEAR)
    if '"' in text[first:begin]:  # which may contain both
        return first
    return max((found.start() for found in _ENDS.finditer(text, first, begin)), default=first)


_STATEMENTS = ("doing", "state", "goes", "new", "held", "belongs", "count", "stays")
_RESULTING = ("revise", "fix", "take", "minus", "treat", "apply", "create")


_NEAR, _FAR = 200, 5000
"""How many characters before a reference may ask for its change, and after it may use the result: a limit of time."""


_PIECE = "entry|row|record|item|line|element"
_MADE = {"add": "sum|total", "create": _PIECE, "make": _PIECE, "open": _PIECE, "start": _PIECE}


def names_result(verb: str, text: str) -> bool:
    """Return whether a later sentence returns a verb's result, or puts it into an output: "the tags" for `tag`."""
    made = _MADE.get(verb, "version")
    noun = rf"\bthe\s+(?!(?:number|count|amount)\s+of\b)(?:\w+\s+){{0,2}}(?:{re.escape(verb[:5])}\w*|{made})\b"
    return re.search(rf"{noun}[^.;!?]*\x02|\breturn\s+{noun}", text, re.IGNORECASE) is not None


def _match_request(text: str, from_: int, begin: int, end: int) -> re.Match[str] | None:
    """Find the verb that changes the value of the reference between two offsets."""
    near = max(0, begin - _NEAR)
    if (found := _STATED.match(text, begin)) is not None:
        is_sure = found["later"] and _CONTINUES.search(text, from_, begin)
        is_judged = _ASKS.search(text, near, begin) or _TAKES.match(text, found.end())
        return None if is_judged and not is_sure else found
    is_place = _PLACE_FIRST.search(text, max(from_, begin - 60), begin)
    if is_place and (found := _THEN_VERB.match(text, begin)) is not None:
        return found
    if not _ANY_VERB.search(text[from_:begin].lower()):
        return None
    if (found := _FROM.search(text, from_, begin)) is not None:
        return found
    if (found := _INTO.search(text, from_, begin)) is not None:
        if found["belongs"] and not _PUT_THERE.match(text, end):
            return None
        if found["held"] and _IF_NOT.match(text, end):
            return None
        is_statement = found["goes"] or found["new"] or found["stays"]
        return None if is_statement and _ASKS.search(text, near, found.start()) else found
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


def find_act(block: NaturalBlock) -> str | None:
    """Return the verb of a request that only code can fulfil, such as printing."""
    if not _ANY_PRINT.search(block.lowered_words):
        return None
    found = _PRINTS.search(_mark_requests(block.marked_words))
    return next(filter(None, found.groups())).lower() if found else None
