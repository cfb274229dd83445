"""Requests that may be a change of an input, by their grammar: no list has all verbs.

    Restock <items>. Put their number into <:n: int>.                   restock, <items>
    Sort <items> by price, and put the first into <:item: str>.         sort, <items>
    Put the number of <items> into <:n: int>, and clear it.             clear, <items>
    Sort <items> by price, and put them into <:sorted: list[str]>.      nothing: an output takes the result

A clause may ask for a change if its verb is not one of judging, its object is an input, a part of one or a pronoun for
one, and no output takes the result; or if it states a new state of an input.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from njc.analysis.asked_changes import CHANGING_VERBS, COLLECTION, TAKEN, AskedChange, names_result
from njc.analysis.judgements import SENTENCE_END, SMALL_WORDS, STARTS, STORES, UNCHANGING_WORDS
from njc.analysis.words import compile_words, split_words
from njc.frontend.blocks import NaturalBlock
from njc.frontend.prompt_references import Reference

_VERBS = f"{CHANGING_VERBS}|shorten|lengthen|soften|reword|reorder|refresh|assign"
_CHANGING = compile_words(rf"(?:{_VERBS})\Z")
_TOKEN = re.compile(r"\x01+|\x02+|\"[^\"\n]*\"|'[^'\n]*'(?!\w)|[\w'’-]+|[,()–—]")
_BREAKS = split_words(", ( ) – — and or but then also so while after")
_LEADS = compile_words(
    r"(?:(?:and |but )?if (?:so|not|needed|necessary|possible|(?:it|they) (?:is|are|does|do))(?: |\Z)|(?:please|now|then"
    r"|also|first|finally|always|just|simply|next|again|you|should|must|shall|have to|need to|could|can|would|will|do|let's"
    r"|otherwise|else"
    r"|afterwards|instead|remember to|make sure to|be sure to|(?:i|we) (?:want|need|would like) you to|(?:your|the) (?:[a-z]+ )?(?:task"
    r"|job|goal|aim|step|action) is to|(?!apply|reply|supply|rely)[a-z]+ly) )*"
)
"""Words before the verb of a request."""
_SUBORDINATE = STARTS - {"otherwise", "else"} | split_words(r"unless that who whose where because since while as although until not never without by")  # fmt: skip
_PRONOUN = r"(?:it|them|these|those|this)\b"
_EACH = r"(?:each|every|all|both|any|everything|anything|what(?:ever)?|whoever|every(?:one|body))\b"
_DETERMINER = compile_words(rf"{_PRONOUN}|{_EACH}|(?:the|an?|its|their|none|no|some|one|two|three)\b|[\x01\"'\d]")  # fmt: skip
_OBJECT = compile_words(
    rf"{_PRONOUN}|{_EACH}|(?:(?!(?:if|when|unless|because|until)\b)\S+ )*\x01|(?:the )?(?:[\w-]+ )?(?:ones?|rest|others?|entry|entries|items?|rows?|elements?|list|first"
    r"|last|\w+est)\b"
)
_PARTICLES = split_words("up out off away down over back in only just")
_NO_VERB = re.compile(r"[^s]s\Z|...ing\Z|...ed\Z|\A(?:say|tell|begin|\w|\W.*|\d.*)\Z")
_FINITE_VERB = re.compile(r"\b(?:is|are|was|were|be|been|has|had|will|does|did|whether)\b")
_UNCHANGING_PHRASE = compile_words(
    r"\b(?:pay attention|leave out|in mind|into account|a (?:close )?look|the gist|(?:the|your|more|some) (?:focus|attention"
    r"|emphasis|weight)|emphasis|out of it|add (?:up|together)|common sense|(?:the|your) (?:answer|reply|result|output|response))\b"
)
_NUMBER = re.compile(r"\s*(?:int|float|bool|Literal\b.*)\s*")
_ONE = compile_words(r"\b(?:put|store|save|write) (?:an?|one|the (?:first|last|\w+st))\b[^.;!?\x02]*\Z")  # fmt: skip
_MANY = compile_words(r"(?:them|these|those|the list)\b")
_CHANGED = (
    r"(?:remov|delet|dropp|discard|eras|replac|swapp|renam|updat|overwrit|overwritt|clear|empti|trimm|shorten|capitali[sz]"
    r"|lower-?cas|upper-?cas|redact|mask|anonymi[sz]|correct|fix|halv|doubl|reword|rewritt|rewrit|translat|increas|decreas"
    r"|reset|merg|sort|chang|reduc|deduplicat|clean|tidi)(?:e?d|n)\b"
)
_STATES = compile_words(
    r"\A(?:(?:(?:all|each|every one|both|none|any|many|most|some|half) of )?(?:the [\w-]+ (?:ones )?(?:of|in) )?\x01|it|they"
    r"|those|these|the (?:rest|others|list)) (?:then |now |also )?(?:loses?|gains?|shrinks?|disappears?|vanish(?:es)?"
    r"|forgets?|ends? up|is (?:then )?(?:empty|gone)\b|are gone\b|(?:gets?|receives?) (?=[\"\d]))"
    rf"|\A(?:{_EACH}|the\b|no\b).*\x01.* (?:is|are) (?:then |now |to be )*(?:(?:remov|delet|dropp|discard|eras|replac)ed\b"
    rf"|(?!sort){_CHANGED} (?:by|to|with|into)\b)|\A(?:it|they|{_EACH}|none|nothing|the rest|the others)\b.* (?:should|must"
    rf"|shall|has to|have to|is to|are to) (?:be |get ){_CHANGED}"
    r"|\A(?:let|have)\b(?! (?:a|us|me|you)\b).*\x01 (?!(?:be|as|is|are|mean|denote|represent|stand|contain|hold|speak|talk"
    r"|explain|say|tell|answer|decide|judge|vote|comment|argue|think|write|describe|help|choose|know|see|win|in|of|for|to"
    r"|and|or|with|from|at|on)\b)[a-z]+|\Alet \x01 be\b.*\x01"
    rf"|\Amake [a-z]+ (?:in|on|at) \x01|\Amake (?:{_PRONOUN}|{_EACH})|\A(?:get rid of|out with)\b|\A(?:those|these|they"
    rf"|the rest|the others|(?:the )?[\w-]+ ones) (?:go(?:es)?|leaves?)\b|\A(?:take|leave|turn) (?:only |just )?{_PRONOUN}"
    r"|\A(?:extract|parse|read|pick|choose|find|count|compute|gather)\b.*\x01.* (?:into|onto) \x01"
    r"|\Aapply (?!.*\x01.* to\b).* to .*\x01|\Atake \x01 (?:from|off) \x01|\Ause up\b|\Alet (?:none|no|there be)\b.*\x01"
    r"|\A(?:otherwise|else) \x01 (?:is|are)\b|\A(?!(?:if|when|unless|as|because|since)\b)(?:[\w-]+ )+in \x01 (?:needs? [a-z]+ing\Z|(?:is|are) to go |(?:has to|have to|must|should|ought to) go\Z)"
    rf"|\A{_EACH}.* (?:has|have|must|should|ought) (?:to )?go(?: from \x01)?\Z|\Apick .*\boff \x01"
    r"|\Aonly\b.* (?:survives?|stays?|remains?|(?:is|are) kept)\b|\A(?:none|nothing|no [\w-]+)\b.* (?:may|must|should"
    r"|can) (?:stay|remain|survive|be (?:left(?! out)|empty))\b"
    r"|\x01.* (?<!that )(?<!which )(?:is|are) to be [a-z]+ed\b|\b(?:in|into|under|as) (?:its|their"
    r"|a new) (?:new )?(?:[\w-]+ )?(?:field|key|attribute|column|entry|slot|margin)\b"
    r"|\b(?:behind|below|under|beside|next to|attached to) (?:it|them|each)\b|\bin[ -]place\b|\b(?:afterwards|from (?:then"
    r"|now|here) on|(?:no|any) longer|for good)\b"
    rf"|\A(?:if|when|whenever|unless|once|for)\b.* (?<!to )(?<!not )(?:{_VERBS}) {_PRONOUN}"
    rf"|(?<!you)(?<!ask)(?<!asks)(?<!asked)(?<!way)(?<!ways)(?<!advice)(?<!plan)(?<!idea)(?<!ideas)(?<!steps)(?<!tips)(?<!code)(?<!function)(?<!want)(?<!wants)(?<!have)(?<!has)(?<!needs)(?<!not) to (?:{_VERBS}) {_PRONOUN}"
    rf"|\A{_EACH}.* becomes? "
    r"|\A(?:translate|rephrase|turn|convert|split|rewrite|paraphrase|round|express|break|divide) (?:(?:the [\w-]+ of )?(?:each"
    r"|every|all|both)\b.*|the (?:first|last|next|best|worst|[\w-]+est|(?:[\w-]+ )?ones?|others|rest)) (?:of|in) \x01"
)
"""Statements of and requests for a new state, even with verbs that judge, and conditions not followed by a comma."""
_ASKS = compile_words(r"\b(?:whether|how|what|which|who|why|where)\b")
_PARTICIPLE = compile_words(rf"(?:(?:by|when|on|always) )?(?:([a-z]+)ing|having [a-z]+ed) (?:{_PRONOUN}|what(?:ever)?\b)")  # fmt: skip
_TOO = compile_words(r"(?:(?:in|into|to|onto|at the [a-z]+ of|in the list of) )?(?:\x01|the list)(?: too| as well)?\Z")  # fmt: skip
"""A second place for a result, after an output."""
_MOVES = compile_words(r"(?:move|transfer|shift|dequeue|withdraw|pull|detach|split .* off)\b.*\x01.*\x02")  # fmt: skip
"""Verbs that move their object from an input into an output."""
_TAKES = STORES | split_words("count report is")


class _Clause(NamedTuple):
    """A part of a sentence, and the rest of it starting at the verb, each with its offset."""

    words: list[str]
    begin: int
    request: list[str]
    start: int
    end: int
    lead: str
    """The separator before the clause; empty at the start of a sentence."""
    is_taken: bool
    """Whether a colon and an output follow."""


def find_unclear_requests(block: NaturalBlock) -> Iterator[AskedChange]:
    """Yield the inputs that a clause may ask to change although no output takes the result."""
    text, shift = block.marked_words, block.end - 3 - len(block.words)
    starts = [each.start - shift for each in block.references]
    text = text.replace("as well as", "and       ").replace("rom then on", "rom now  on")
    for clauses in _list_sentences(text):
        for at, clause in enumerate(clauses):
            if clause.lead == "or" and any("whether" in each.words for each in clauses[:at]):
                continue
            following = clauses[at + 1 : at + 9]
            rest = takewhile(lambda each: not _is_verb(each.request[0]), following)
            first = bisect_left(starts, clause.begin)
            last = bisect_left(starts, [clause, *rest][-1].end)
            behind, later = block.references[last : last + 20], text[clause.end :][:1000]
            if _is_move(clause, clauses[at - 1] if at else None) or (
                _may_change(clause) and not _takes_result(clause, following, behind, later)
            ):
                verb, start = clause.request[0], clause.start + shift
                for reference in _find_objects(clause, block, first, last)[:8]:
                    yield AskedChange(verb, start, start + len(verb), reference)


def _is_move(clause: _Clause, before: _Clause | None) -> bool:
    """Return whether a clause moves something from an input into an output, or names a second place after one."""
    if before is not None and before.words[-1] == "\x02" and _TOO.match(" ".join(clause.words)):
        return True
    return bool(_MOVES.match(" ".join(clause.request)))


def _find_objects(clause: _Clause, block: NaturalBlock, first: int, last: int) -> list[Reference]:
    """Return the inputs that a clause may change; `first` and `last` limit the references in it."""
    found = block.references[first:last]
    if clause.request[:3] == ["let", "\x01", "be"]:
        found = found[: found[0].is_dotted]
    elif not found:  # a pronoun for an input, or for an earlier output that is not a number
        found = block.references[max(0, first - 8) : first][::-1]
        outputs = [each for each in found if each.writes]
        if _MANY.search(" ".join(clause.request)):
            outputs = [each for each in outputs if not _is_one(each, block)]
        if not all(_NUMBER.fullmatch(each.type or "") for each in outputs):
            return []
    return [each for each in found if not each.writes]


def _is_one(output: Reference, block: NaturalBlock) -> bool:
    """Return whether an output is a single text, so that `them` means something else."""
    begin = output.start - (block.end - 3 - len(block.words))
    return (
        output.type == "str"
        and _ONE.search(block.marked_words, max(0, begin - 200), begin) is not None
    )


def _list_sentences(text: str) -> Iterator[list[_Clause]]:
    """Yield each sentence's clauses; questions are left out."""
    begin = 0
    for end, stop in [*(each.span() for each in SENTENCE_END.finditer(text)), (len(text),) * 2]:
        tokens, clauses = list(_TOKEN.finditer(text, begin, end)), list[_Clause]()
        names = [each[0][0] if each[0] < "\x03" else each[0].lower() for each in tokens]
        breaks = [at for at, name in enumerate(names) if name in _BREAKS]
        to_output = text[end:stop].startswith(":") and text[stop:].lstrip().startswith("\x02")
        for before, last in zip([-1, *breaks], [*breaks, len(names)], strict=True):
            if words := names[before + 1 : last]:
                leads = _LEADS.match(" ".join([*words, ""]))
                at = min(leads[0].count(" ") if leads else 0, len(words) - 1)
                clauses.append(_Clause(
                    words, tokens[before + 1].start(), words[at:], tokens[before + 1 + at].start(),
                    tokens[last].start() if last < len(names) else end, names[before] if before >= 0 else "",
                    to_output and last == len(names),
                ))  # fmt: skip
        if clauses and not text[begin:end].endswith("?"):
            yield clauses
        begin = stop


def _may_change(clause: _Clause) -> bool:
    """Return whether a clause has no output and may ask to change an input."""
    if "\x02" in clause.words or clause.is_taken:
        return False
    whole, text = " ".join(clause.words[:60]), " ".join(clause.request[:60])
    verb, *rest = clause.request
    if _UNCHANGING_PHRASE.search(whole):
        return False
    if (_STATES.search(whole) or _STATES.search(text)) and not _ASKS.search(whole):
        return True
    if found := _PARTICIPLE.match(whole):
        stem = found[1] or "change"
        return any(map(_CHANGING.match, (stem, f"{stem}e", stem[:-1])))
    if clause.lead in ("while", "after") or verb in _SUBORDINATE or not _is_verb(verb):
        return False
    if verb.partition("-")[0] in UNCHANGING_WORDS:
        return "\x01 itself" in text
    rest = rest[rest[:1] != [] and rest[0] in _PARTICLES :]
    object_ = " ".join(rest[:60])
    if _CHANGING.match(verb):
        is_clear = not rest or _DETERMINER.match(object_)
        return bool(is_clear or ("\x01" in rest and not _FINITE_VERB.search(text)))
    return bool(_DETERMINER.match(object_) and _OBJECT.match(object_))


def _is_verb(word: str) -> bool:
    is_other = word in SMALL_WORDS or word in STARTS or word in _PARTICLES
    return not (is_other or _DETERMINER.fullmatch(word) or _NO_VERB.search(word))


def _takes_result(
    clause: _Clause, after: Sequence[_Clause], behind: Sequence[Reference], later: str
) -> bool:
    """Return whether an output after a request takes its result: a collection, or an output named for it."""
    continued = takewhile(lambda it: it.request[0] not in _TAKES and "how" not in it.words, after)
    if any("\x02" in each.words for each in continued):
        return True
    words = clause.request
    is_other = words[0] not in UNCHANGING_WORDS and _STATES.search(" ".join(words[:60]))
    is_collected = any(COLLECTION.match(each.type or "") for each in behind if each.writes)
    is_given = words[0] in ("give", "assign") or not _is_verb(words[0])
    made = [each for each in (words[-1], *words[: not is_given]) if len(each) > 2]
    is_named = any(names_result(each, later) for each in made)
    return bool(
        (is_collected and not is_other) or is_named or TAKEN.search(later.partition("?")[0])
    )
